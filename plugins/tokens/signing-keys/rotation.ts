import type { Executor } from '../../../db/client.js';
import type { Config } from '../../../schemas/config.js';
import type { KeyPairAlgorithm } from '../../../schemas/jwks.js';
import type { KeyStore } from './store.js';

/** A new key, and the time from which it signs. */
export interface CreatedKey {
  kid: string;
  algorithm: KeyPairAlgorithm;
  signsFrom: Date;
}

/**
 * How long a new key is published before it signs, in milliseconds. This is longer than verifiers cache the keys, whether or not
 * they follow the caching headers of the response.
 */
export const leadTime = 3_600_000;

/**
 * Creates the first key of an algorithm. If there is a key of another algorithm, verifiers may have cached it, so the new key is
 * published for some time before it signs. Without any other key, the new key signs immediately.
 * @returns undefined if the algorithm already has a key, because another instance was faster
 */
export async function addFirstKey(
  db: Executor,
  store: KeyStore,
  algorithm: KeyPairAlgorithm,
  now: Date,
): Promise<CreatedKey | undefined> {
  return db.transaction(async (tx) => {
    const keys = await store.readForUpdate(tx);
    if (keys.some((key) => key.algorithm === algorithm)) return undefined;
    return add(tx, store, algorithm, keys.length === 0 ? now : after(now, leadTime), now);
  });
}

/**
 * Creates the successor of the current signing key. The old key still verifies tokens, and is removed when it is no longer needed.
 * @param lead how long the new key is published before it signs, in milliseconds
 * @returns the new key, or a successor that already exists
 */
export async function rotate(
  db: Executor,
  store: KeyStore,
  algorithm: KeyPairAlgorithm,
  now: Date,
  lead: number,
): Promise<CreatedKey & { isAlreadyScheduled: boolean }> {
  return db.transaction(async (tx) => {
    const keys = await store.readForUpdate(tx);
    const next = keys.find((key) => key.algorithm === algorithm && key.signsFrom > now);
    if (next) return { kid: next.kid, algorithm, signsFrom: next.signsFrom, isAlreadyScheduled: true };
    return { ...(await add(tx, store, algorithm, after(now, lead), now)), isAlreadyScheduled: false };
  });
}

/** Removes all keys, which invalidates all tokens signed with them. A new key signs immediately. */
export async function revoke(
  db: Executor,
  store: KeyStore,
  algorithm: Config['ACCESS_TOKEN_ALGORITHM'],
  now: Date,
): Promise<{ removed: string[]; made: CreatedKey | undefined }> {
  return db.transaction(async (tx) => {
    await store.readForUpdate(tx);
    const removed = await store.remove(tx);
    return { removed, made: algorithm === 'HS256' ? undefined : await add(tx, store, algorithm, now, now) };
  });
}

async function add(tx: Executor, store: KeyStore, algorithm: KeyPairAlgorithm, signsFrom: Date, now: Date) {
  return { kid: await store.add(tx, algorithm, signsFrom, now), algorithm, signsFrom };
}

const after = (moment: Date, ms: number) => new Date(moment.getTime() + ms);
