import { setTimeout as sleep } from 'node:timers/promises';
import {
  type KeyPairAlgorithm,
  type KeySet,
  keyPairAlgorithms,
  type PublicKey,
  resourceTokenAlgorithm,
} from '../../../schemas/jwks.js';
import type { Services } from '../../platform/plugin.js';
import type { PrivateKey } from './key-pair.js';
import {
  addFirstKey,
  addProviderKeys,
  algorithmsInUse,
  type CreatedKey,
  type RotatedKey,
  revoke,
  rotate,
  signsAccessTokens,
} from './rotation.js';
import { createKeyStore, type SigningKey } from './store.js';

/** The keys with which the OpenID Connect provider signs, at one moment. */
export interface ProviderKeys {
  /** Changes whenever the other members do: after a rotation, a revocation, or a removal, and when a new key begins to sign. */
  version: string;
  /** The private keys that sign now: one of each algorithm, in the order of `keyPairAlgorithms`. */
  signing: readonly PrivateKey[];
  /** The public keys of the key set. */
  verifying: readonly PublicKey[];
  /**
   * The private keys of the key set, those of `signing` first: for libraries that sign with the first key of an algorithm, verify with
   * all of them, and require private keys, such as `oidc-provider`.
   */
  all: readonly PrivateKey[];
}

/** A key that signs tokens of one kind now. A key can sign several kinds. */
export interface SignerOf extends Pick<SigningKey, 'algorithm' | 'signsFrom'> {
  signs: 'access_tokens' | 'id_tokens' | 'resource_tokens';
}

/** The keys that sign tokens, cached in the memory of this instance. */
export interface SigningKeys {
  /**
   * The key that signs access tokens now; undefined if they are signed with the key derived from SECRET.
   * @throws if there is no key, because all of them have been deleted
   */
  signer(): SigningKey | undefined;
  /**
   * The keys that sign now, by the kind of token. Those of the OpenID Connect provider are absent until it has been used, and those of
   * access tokens if they are signed with the key derived from SECRET.
   */
  signers(): SignerOf[];
  /**
   * The key with this ID, if it can have signed an access token. If it is not in memory, the keys are reloaded first, because another
   * instance may have created it.
   */
  find(kid: string): Promise<SigningKey | undefined>;
  /**
   * The keys of the OpenID Connect provider. The first call of all instances creates them, which takes up to a few seconds. Further calls
   * neither query the database nor create objects until the version changes. Do not call this inside a transaction.
   */
  providerKeys(): Promise<ProviderKeys>;
  /** The public keys, for publication. */
  published(): KeySet;
  /** Loads the keys when the service starts, and seals them with the current SECRET. */
  start(): Promise<void>;
  /** Reloads the keys from the database, and creates the first one if the algorithm requires it. */
  reload(): Promise<void>;
  /**
   * Creates a successor of the signing key of each algorithm in use. The old keys still verify tokens, and are removed when they are no
   * longer needed.
   * @param lead how long a new key is published before it signs, in milliseconds
   * @returns for each algorithm, the new key, or a successor that already exists; empty if no algorithm in use has key pairs
   */
  rotate(lead: number): Promise<RotatedKey[]>;
  /** Removes all keys, which invalidates all tokens signed with them. New keys of the algorithms in use sign immediately. */
  revoke(): Promise<{ removed: string[]; made: CreatedKey[] }>;
  /** Removes keys that are no longer needed, and seals the others with the current SECRET. */
  tidy(): Promise<void>;
}

/** Milliseconds. The shortest interval between database queries that are caused by tokens with unknown key IDs. */
const minPauseMs = 1_000;

export function createSigningKeys(services: Services): SigningKeys {
  const { config, db, clock, log } = services;
  const { ACCESS_TOKEN_ALGORITHM: algorithm } = config;
  const store = createKeyStore(services, (kid) =>
    log.warn({ kid }, 'a signing key was encrypted with an unknown SECRET'),
  );
  let keys: readonly SigningKey[] = [];
  let reading: Promise<void> = Promise.resolve();
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const signer = (): SigningKey | undefined => {
    if (algorithm === 'HS256') return undefined;
    const now = clock();
    const ours = keys.filter(signsAccessTokens);
    const due = ours.filter(({ signsFrom }) => signsFrom <= now);
    const ofAlgorithm = (key: SigningKey) => key.algorithm === algorithm;
    // A key of another algorithm continues to sign until the first key of this algorithm has been published for long enough.
    const key = due.find(ofAlgorithm) ?? due[0] ?? ours.find(ofAlgorithm);
    if (!key) throw new Error('There is no key with which to sign access tokens.');
    return key;
  };

  /** The newest due key of each algorithm. If none is due, the one that is due next, because no other key can sign in its place. */
  const providerSigners = (): SigningKey[] => {
    const now = clock();
    return keyPairAlgorithms.flatMap((one) => {
      const ofAlgorithm = keys.filter((key) => key.algorithm === one);
      return ofAlgorithm.find(({ signsFrom }) => signsFrom <= now) ?? ofAlgorithm.at(-1) ?? [];
    });
  };

  const signers = (): SignerOf[] => {
    const ofAccessTokens = signer();
    const isProviderUsed = !keys.every(signsAccessTokens);
    return [
      ...(ofAccessTokens ? [{ ...ofAccessTokens, signs: 'access_tokens' } as const] : []),
      ...(isProviderUsed ? providerSigners() : []).flatMap((key): SignerOf[] => [
        { ...key, signs: 'id_tokens' },
        ...(key.algorithm === resourceTokenAlgorithm ? [{ ...key, signs: 'resource_tokens' } as const] : []),
      ]),
    ].map(({ signs, algorithm: one, signsFrom }) => ({ signs, algorithm: one, signsFrom }));
  };

  const read = async (): Promise<void> => {
    let found = await store.read(db);
    if (algorithm !== 'HS256' && !found.some((key) => key.algorithm === algorithm)) {
      const made = await addFirstKey(db, store, algorithm, clock());
      if (made) log.info(made, 'a signing key was created');
      found = await store.read(db);
    }
    keys = found;
    const inUse = algorithmsInUse(keys, algorithm);
    const signing = new Set([signer(), ...providerSigners().filter((key) => inUse.includes(key.algorithm))]);
    for (const key of signing) if (key) await store.extend(db, key, clock());
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

  const missingForProvider = (): KeyPairAlgorithm[] =>
    keyPairAlgorithms.filter((one) => !keys.some((key) => key.algorithm === one));

  let adding: Promise<void> | undefined;
  const addMissing = async (): Promise<void> => {
    await reload();
    const missing = missingForProvider();
    if (missing.length === 0) return;
    for (const made of await addProviderKeys(db, store, missing, clock())) log.info(made, 'a signing key was created');
    await reload();
    if (missingForProvider().length > 0)
      throw new Error('The keys of the OpenID Connect provider could not be created.');
  };

  let latest: ProviderKeys | undefined;
  const providerKeysNow = (): ProviderKeys => {
    const signers = providerSigners();
    const version = [signers, keys].map((list) => list.map(({ kid }) => kid).join('.')).join('/');
    if (latest?.version !== version) {
      const signing = signers.map((key) => key.privateKey());
      const others = keys.filter((key) => !signers.includes(key)).map((key) => key.privateKey());
      const verifying = keys.map(({ publicKey }) => publicKey);
      latest = { version, signing, verifying, all: [...signing, ...others] };
    }
    return latest;
  };

  return {
    signer,
    signers,
    reload,
    rotate: (lead) => rotate(db, store, algorithm, clock(), lead),
    revoke: () => revoke(db, store, algorithm, clock()),

    start: async () => {
      await reload();
      await store.reseal(db);
    },

    find: async (kid) => {
      if (!known(kid)) await requestReload();
      const key = known(kid);
      return key && signsAccessTokens(key) ? key : undefined;
    },

    providerKeys: async () => {
      if (missingForProvider().length > 0) {
        adding ??= addMissing().finally(() => {
          adding = undefined;
        });
        await adding;
      }
      return providerKeysNow();
    },

    published: () => ({ keys: keys.map(({ publicKey }) => publicKey) }),

    tidy: async () => {
      // Reload first. This extends the life of the keys that sign, so that they are not removed below.
      await reload();
      const removed = await db.transaction((tx) => store.remove(tx, clock()));
      if (removed.length > 0) await reload();
      await store.reseal(db);
    },
  };
}
