import type { Executor } from '../../../db/client.js';
import type { Config } from '../../../schemas/config.js';
import type { KeyPairAlgorithm } from '../../../schemas/jwks.js';
import type { KeyStore } from './store.js';

/** A key that was made, and from when on it signs. */
export interface MadeKey {
  kid: string;
  algorithm: KeyPairAlgorithm;
  signsFrom: Date;
}

/**
 * How long a new key is made known before it signs, in milliseconds: longer than anybody keeps the keys that they have read,
 * be they verifiers that go by what the answer says, or such as don't.
 */
export const leadTime = 3_600_000;

/**
 * Makes the first key of an algorithm, when there is none. Where there is another key, others have read that one, and the new
 * one is made known first; the very first one signs at once.
 * @returns undefined when another instance was faster
 */
export async function addFirst(
  db: Executor,
  store: KeyStore,
  algorithm: KeyPairAlgorithm,
  now: Date,
): Promise<MadeKey | undefined> {
  return db.transaction(async (tx) => {
    const keys = await store.readAlone(tx);
    if (keys.some((key) => key.algorithm === algorithm)) return undefined;
    return add(tx, store, algorithm, keys.length === 0 ? now : after(now, leadTime), now);
  });
}

/**
 * Makes the key that takes over from the one that signs now. The old one verifies on; it is removed when nobody needs it.
 * @param lead how long the new one is made known before
 * @returns the new one; or the one that is to take over already
 */
export async function rotate(
  db: Executor,
  store: KeyStore,
  algorithm: KeyPairAlgorithm,
  now: Date,
  lead = leadTime,
): Promise<MadeKey & { isUnderWay: boolean }> {
  return db.transaction(async (tx) => {
    const keys = await store.readAlone(tx);
    const next = keys.find((key) => key.algorithm === algorithm && key.signsFrom > now);
    if (next) return { kid: next.kid, algorithm, signsFrom: next.signsFrom, isUnderWay: true };
    return { ...(await add(tx, store, algorithm, after(now, lead), now)), isUnderWay: false };
  });
}

/** Removes all keys, and with them whatever they have signed; a new one signs at once. */
export async function revoke(
  db: Executor,
  store: KeyStore,
  algorithm: Config['ACCESS_TOKEN_ALGORITHM'],
  now: Date,
): Promise<{ removed: string[]; made: MadeKey | undefined }> {
  return db.transaction(async (tx) => {
    await store.readAlone(tx);
    const removed = await store.remove(tx);
    return { removed, made: algorithm === 'HS256' ? undefined : await add(tx, store, algorithm, now, now) };
  });
}

async function add(tx: Executor, store: KeyStore, algorithm: KeyPairAlgorithm, signsFrom: Date, now: Date) {
  return { kid: await store.add(tx, algorithm, signsFrom, now), algorithm, signsFrom };
}

const after = (moment: Date, ms: number) => new Date(moment.getTime() + ms);
