import type { Executor } from '../../../db/client.js';
import type { Config } from '../../../schemas/config.js';
import { accessTokenKeyAlgorithms, type KeyPairAlgorithm, keyPairAlgorithms } from '../../../schemas/jwks.js';
import { makeKeyPairs, type NewKeyPair } from './key-pair.js';
import type { KeyStore } from './store.js';

/** A new key, and the time from which it signs. */
export interface CreatedKey {
  kid: string;
  algorithm: KeyPairAlgorithm;
  signsFrom: Date;
}

/** The new key of an algorithm, or a successor that an earlier rotation created. */
export type RotatedKey = CreatedKey & { isAlreadyScheduled: boolean };

type Algorithm = Config['ACCESS_TOKEN_ALGORITHM'];

/**
 * How long a new key is published before it signs, in milliseconds. This is longer than verifiers cache the keys, whether or not
 * they follow the caching headers of the response.
 */
export const leadTime = 3_600_000;

/** Whether a key can sign access tokens of this service. Others sign only for the OpenID Connect provider. */
export const signsAccessTokens = ({ algorithm }: { algorithm: KeyPairAlgorithm }): boolean =>
  accessTokenKeyAlgorithms.some((one) => one === algorithm);

/**
 * The algorithms that must have a key: the one of access tokens and, once the OpenID Connect provider has been used, all of the
 * provider's. A key that only the provider needs shows that it has been used.
 */
export function algorithmsInUse(
  keys: readonly { algorithm: KeyPairAlgorithm }[],
  configured: Algorithm,
): readonly KeyPairAlgorithm[] {
  if (!keys.every(signsAccessTokens)) return keyPairAlgorithms;
  return configured === 'HS256' ? [] : [configured];
}

/**
 * Creates the first key for access tokens. If there is a key of another algorithm, verifiers may have cached it, so the new key is
 * published for some time before it signs. Without any other key, the new key signs immediately.
 * @returns undefined if the algorithm already has a key, because another instance was faster
 */
export async function addFirstKey(
  db: Executor,
  store: KeyStore,
  algorithm: KeyPairAlgorithm,
  now: Date,
): Promise<CreatedKey | undefined> {
  const pairs = await makeKeyPairs([algorithm]);
  const [made] = await addMissing(db, store, pairs, now, (canWait) => (canWait ? after(now, leadTime) : now));
  return made;
}

/**
 * Creates the first keys for the OpenID Connect provider. They sign immediately, because no other key can sign with their algorithms.
 * A verifier with a cached key set does not know them, and has to read the set again.
 * @returns the new keys, without those that another instance was faster to create
 */
export async function addProviderKeys(
  db: Executor,
  store: KeyStore,
  algorithms: readonly KeyPairAlgorithm[],
  now: Date,
): Promise<CreatedKey[]> {
  return addMissing(db, store, await makeKeyPairs(algorithms), now, () => now);
}

/** @param signsFrom when the keys sign, depending on whether other keys can sign access tokens until then */
async function addMissing(
  db: Executor,
  store: KeyStore,
  pairs: readonly NewKeyPair[],
  now: Date,
  signsFrom: (canWait: boolean) => Date,
): Promise<CreatedKey[]> {
  return db.transaction(async (tx) => {
    const keys = await store.readForUpdate(tx);
    const missing = pairs.filter(({ algorithm }) => !keys.some((key) => key.algorithm === algorithm));
    return addAll(tx, store, missing, signsFrom(keys.some(signsAccessTokens)), now);
  });
}

/**
 * Creates a successor of the signing key of each algorithm in use. The old keys still verify tokens, and are removed when they are no
 * longer needed.
 * @param lead how long a new key is published before it signs, in milliseconds
 * @returns for each algorithm, the new key, or a successor that already exists
 */
export async function rotate(
  db: Executor,
  store: KeyStore,
  configured: Algorithm,
  now: Date,
  lead: number,
): Promise<RotatedKey[]> {
  const pairs = await makeKeyPairs(algorithmsInUse(await store.read(db), configured));
  return db.transaction(async (tx) => {
    const keys = await store.readForUpdate(tx);
    const rotated: RotatedKey[] = [];
    for (const pair of pairs) {
      const { algorithm } = pair;
      const next = keys.find((key) => key.algorithm === algorithm && key.signsFrom > now);
      if (next) rotated.push({ kid: next.kid, algorithm, signsFrom: next.signsFrom, isAlreadyScheduled: true });
      else rotated.push({ ...(await add(tx, store, pair, after(now, lead), now)), isAlreadyScheduled: false });
    }
    return rotated;
  });
}

/** Removes all keys, which invalidates all tokens signed with them. New keys of the algorithms in use sign immediately. */
export async function revoke(
  db: Executor,
  store: KeyStore,
  configured: Algorithm,
  now: Date,
): Promise<{ removed: string[]; made: CreatedKey[] }> {
  const pairs = await makeKeyPairs(algorithmsInUse(await store.read(db), configured));
  return db.transaction(async (tx) => {
    await store.readForUpdate(tx);
    const removed = await store.remove(tx);
    return { removed, made: await addAll(tx, store, pairs, now, now) };
  });
}

async function addAll(tx: Executor, store: KeyStore, pairs: readonly NewKeyPair[], signsFrom: Date, now: Date) {
  const made: CreatedKey[] = [];
  for (const pair of pairs) made.push(await add(tx, store, pair, signsFrom, now));
  return made;
}

async function add(tx: Executor, store: KeyStore, pair: NewKeyPair, signsFrom: Date, now: Date): Promise<CreatedKey> {
  await store.add(tx, pair, signsFrom, now);
  return { kid: pair.kid, algorithm: pair.algorithm, signsFrom };
}

const after = (moment: Date, ms: number) => new Date(moment.getTime() + ms);
