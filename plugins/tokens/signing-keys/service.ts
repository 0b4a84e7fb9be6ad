import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor } from '../../../db/client.js';
import type { Config } from '../../../schemas/config.js';
import type { KeySet } from '../../../schemas/jwks.js';
import type { Clock } from '../../platform/clock.js';
import { addFirst } from './rotation.js';
import type { KeyStore, SigningKey } from './store.js';

/** The keys of access tokens as this instance knows them. Requests are answered from memory. */
export interface SigningKeys {
  /** The key to sign with at this moment; undefined: none, access tokens are signed with one made from SECRET. */
  signer(): SigningKey | undefined;
  /** The key of this id. When there is none, the database is asked first whether another instance has made it. */
  find(kid: string): Promise<SigningKey | undefined>;
  /** What everybody may know of them. */
  published(): KeySet;
  /** Reads them anew; makes the first one when there should be one. */
  reload(): Promise<void>;
  /** Removes those that nobody needs any more, and renews the seals of the others. */
  tidy(): Promise<void>;
}

/** How often, at the most, tokens with ids that nobody knows have the database asked. Milliseconds. */
const shortestPause = 1_000;

export function createSigningKeys(deps: {
  db: Executor;
  clock: Clock;
  store: KeyStore;
  algorithm: Config['ACCESS_TOKEN_ALGORITHM'];
  onMade(key: { kid: string; algorithm: string; signsFrom: Date }): void;
}): SigningKeys {
  const { db, clock, store, algorithm, onMade } = deps;
  let keys: readonly SigningKey[] = [];
  let reading: Promise<void> = Promise.resolve();
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const signer = (): SigningKey | undefined => {
    if (algorithm === 'HS256') return undefined;
    const now = clock();
    const due = keys.filter(({ signsFrom }) => signsFrom <= now);
    const ofAlgorithm = (key: SigningKey) => key.algorithm === algorithm;
    // A key of another algorithm goes on signing until the first one of this has been made known for long enough.
    const key = due.find(ofAlgorithm) ?? due[0] ?? keys.find(ofAlgorithm);
    if (!key) throw new Error('There is no key to sign access tokens with.');
    return key;
  };

  const read = async (): Promise<void> => {
    let found = await store.read(db);
    if (algorithm !== 'HS256' && !found.some((key) => key.algorithm === algorithm)) {
      const made = await addFirst(db, store, algorithm, clock());
      if (made) onMade(made);
      found = await store.read(db);
    }
    keys = found;
    const key = signer();
    if (key) await store.keep(db, key, clock());
  };

  /** One after the other: none that was slow puts back what a later one has found. */
  const reload = (): Promise<void> => {
    reading = reading.then(read, read);
    return reading;
  };

  /** Reads the keys at a moment that is still to come: whoever asks meanwhile waits for the same answer. */
  const ask = (): Promise<void> => {
    asking ??= (async () => {
      await sleep(Math.max(0, askedAt + shortestPause - performance.now()));
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

    find: async (kid) => {
      const key = known(kid);
      if (key) return key;
      await ask();
      return known(kid);
    },

    published: () => ({ keys: keys.map(({ publicKey }) => publicKey) }),

    tidy: async () => {
      // First of all, so that the one that signs is never among those that go.
      await reload();
      const removed = await db.transaction((tx) => store.remove(tx, clock()));
      if (removed.length > 0) await reload();
      await store.reseal(db);
    },
  };
}
