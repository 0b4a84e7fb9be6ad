import { setTimeout as sleep } from 'node:timers/promises';
import type { KeySet } from '../../../schemas/jwks.js';
import type { Services } from '../../platform/plugin.js';
import { addFirstKey, type CreatedKey, revoke, rotate } from './rotation.js';
import { createKeyStore, type SigningKey } from './store.js';

/** The access token keys, cached in the memory of this instance. */
export interface SigningKeys {
  /**
   * The current signing key; undefined if access tokens are signed with the key derived from SECRET.
   * @throws if there is no key, because all of them have been deleted
   */
  signer(): SigningKey | undefined;
  /** The key with this ID. If it is not in memory, the keys are reloaded first, because another instance may have created it. */
  find(kid: string): Promise<SigningKey | undefined>;
  /** The public keys, for publication. */
  published(): KeySet;
  /** Loads the keys when the service starts, and seals them with the current SECRET. */
  start(): Promise<void>;
  /** Reloads the keys from the database, and creates the first one if the algorithm requires it. */
  reload(): Promise<void>;
  /**
   * Creates the successor of the current signing key. The old key still verifies tokens, and is removed when it is no longer needed.
   * @param lead how long the new key is published before it signs, in milliseconds
   * @returns the new key, or a successor that already exists; null if access tokens are signed with the key derived from SECRET
   */
  rotate(lead: number): Promise<(CreatedKey & { isAlreadyScheduled: boolean }) | null>;
  /** Removes all keys, which invalidates all tokens signed with them. A new key, if the algorithm requires one, signs immediately. */
  revoke(): Promise<{ removed: string[]; made: CreatedKey | undefined }>;
  /** Removes keys that are no longer needed, and seals the others with the current SECRET. */
  tidy(): Promise<void>;
}

/** Milliseconds. The shortest interval between database queries that are caused by tokens with unknown key IDs. */
const minPauseMs = 1_000;

export function createSigningKeys(services: Services): SigningKeys {
  const { config, db, clock, log } = services;
  const { ACCESS_TOKEN_ALGORITHM: algorithm } = config;
  const store = createKeyStore(services, (kid) =>
    log.warn({ kid }, 'an access token key was encrypted with an unknown SECRET'),
  );
  let keys: readonly SigningKey[] = [];
  let reading: Promise<void> = Promise.resolve();
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const signer = (): SigningKey | undefined => {
    if (algorithm === 'HS256') return undefined;
    const now = clock();
    const due = keys.filter(({ signsFrom }) => signsFrom <= now);
    const ofAlgorithm = (key: SigningKey) => key.algorithm === algorithm;
    // A key of another algorithm continues to sign until the first key of this algorithm has been published for long enough.
    const key = due.find(ofAlgorithm) ?? due[0] ?? keys.find(ofAlgorithm);
    if (!key) throw new Error('There is no key with which to sign access tokens.');
    return key;
  };

  const read = async (): Promise<void> => {
    let found = await store.read(db);
    if (algorithm !== 'HS256' && !found.some((key) => key.algorithm === algorithm)) {
      const made = await addFirstKey(db, store, algorithm, clock());
      if (made) log.info(made, 'an access token key was created');
      found = await store.read(db);
    }
    keys = found;
    const key = signer();
    if (key) await store.extend(db, key, clock());
  };

  /** Reloads run one at a time, so that a slow one cannot overwrite the result of a later one. */
  const reload = (): Promise<void> => {
    reading = reading.then(read, read);
    return reading;
  };

  /** Schedules a reload. All callers that arrive before it starts share its result. */
  const requestReload = (): Promise<void> => {
    asking ??= (async () => {
      await sleep(Math.max(0, askedAt + minPauseMs - performance.now()));
      asking = undefined;
      askedAt = performance.now();
      await reload();
    })();
    return asking;
  };

  const known = (kid: string) => keys.find((key) => key.kid === kid);

  return {
    signer,
    reload,
    rotate: async (lead) => (algorithm === 'HS256' ? null : rotate(db, store, algorithm, clock(), lead)),
    revoke: () => revoke(db, store, algorithm, clock()),

    start: async () => {
      await reload();
      await store.reseal(db);
    },

    find: async (kid) => {
      const key = known(kid);
      if (key) return key;
      await requestReload();
      return known(kid);
    },

    published: () => ({ keys: keys.map(({ publicKey }) => publicKey) }),

    tidy: async () => {
      // Reload first. This extends the life of the signing key, so that it is not removed below.
      await reload();
      const removed = await db.transaction((tx) => store.remove(tx, clock()));
      if (removed.length > 0) await reload();
      await store.reseal(db);
    },
  };
}
