import type { Executor } from '../../../db/client.js';
import {
  deleteSigningKeys,
  insertSigningKey,
  keepSigningKey,
  listSigningKeys,
  lockSigningKeys,
  resealSigningKey,
  type SigningKeyRecord,
} from '../../../db/queries/tokens/signing-keys.js';
import { createSecretBox } from '../../platform/encryption.js';
import { keysFor } from '../../platform/key-derivation.js';
import type { Services } from '../../platform/plugin.js';
import { type KeyPair, type NewKeyPair, readKeyPair } from './key-pair.js';

/** A key pair with its validity times. */
export interface SigningKey extends KeyPair {
  /** The time from which the key may sign. Until then, it is only published. */
  signsFrom: Date;
  neededUntil: Date;
}

/** The keys in the database, which all instances share. */
export interface KeyStore {
  /** All keys that can be decrypted, sorted by `signsFrom`, latest first. */
  read(executor: Executor): Promise<SigningKey[]>;
  /** Like `read`, but also locks the keys against changes until the transaction ends. */
  readForUpdate(tx: Executor): Promise<SigningKey[]>;
  /** Stores a new key. */
  add(tx: Executor, pair: NewKeyPair, signsFrom: Date, now: Date): Promise<void>;
  /** Removes all keys, or those that were needed only before `neededBefore`. @returns their IDs */
  remove(tx: Executor, neededBefore?: Date): Promise<string[]>;
  /** Extends `neededUntil` of a key that is still signing. Runs a statement only once an hour. */
  extend(executor: Executor, key: SigningKey, now: Date): Promise<void>;
  /** Reseals keys that were sealed with a previous SECRET, using the current one. */
  reseal(executor: Executor): Promise<void>;
}

const hour = 3_600_000;

/** Milliseconds. The longest lifetime of a token that the OpenID Connect provider signs: a JWT for an API. */
const maxProviderTokenLifetime = 24 * hour;

/**
 * What a sealed private key is bound to. Builds that do not support RS256 bind every key to its ID alone. They cannot open such a key,
 * and therefore ignore it. Otherwise, they would fail to publish it, and could sign access tokens with it.
 */
const ownerOf = ({ kid, algorithm }: Pick<SigningKeyRecord, 'kid' | 'algorithm'>): string =>
  algorithm === 'RS256' ? `${algorithm}.${kid}` : kid;

/** @param onUnreadable called once for each key that cannot be decrypted */
export function createKeyStore({ config, activity }: Services, onUnreadable: (kid: string) => void): KeyStore {
  const box = createSecretBox(keysFor(config, 'signing-key'));
  /**
   * The longest time for which a token is presented. Keys must be available for that long, so that the service can report a token as
   * expired, and so that ID tokens, which expire earlier, identify a session until it ends without use (`id_token_hint`).
   */
  const { ACCESS_TOKEN_TTL, REFRESH_TOKEN_TTL, SESSION_COOKIE_TTL } = config;
  const maxTokenLifetime = Math.max(ACCESS_TOKEN_TTL, REFRESH_TOKEN_TTL, SESSION_COOKIE_TTL, maxProviderTokenLifetime);
  /** Cache of decrypted keys, because decrypting a key takes longer than checking that it still exists. */
  let opened = new Map<string, KeyPair>();
  const unreadable = new Set<string>();

  const open = (record: SigningKeyRecord): KeyPair | undefined => {
    const { kid, algorithm, privateKey } = record;
    try {
      return readKeyPair(kid, algorithm, box.open(privateKey, ownerOf(record)));
    } catch {
      if (!unreadable.has(kid)) onUnreadable(kid);
      unreadable.add(kid);
      return undefined;
    }
  };

  const read: KeyStore['read'] = async (executor) => {
    const keys = (await listSigningKeys(executor)).flatMap((record) => {
      const pair = opened.get(record.kid) ?? open(record);
      return pair ? [{ ...pair, signsFrom: record.signsFrom, neededUntil: record.neededUntil }] : [];
    });
    opened = new Map(keys.map((key) => [key.kid, key]));
    return keys;
  };

  return {
    read,

    readForUpdate: async (tx) => {
      await lockSigningKeys(tx);
      return read(tx);
    },

    add: async (tx, { kid, algorithm, pem }, signsFrom, now) => {
      const neededUntil = new Date(signsFrom.getTime() + maxTokenLifetime + 2 * hour);
      await insertSigningKey(tx, {
        kid,
        algorithm,
        privateKey: box.seal(pem, ownerOf({ kid, algorithm })),
        createdAt: now,
        signsFrom,
        neededUntil,
      });
      await activity.record(tx, null, [{ action: 'create', collection: 'signing_keys', item: kid }]);
    },

    remove: async (tx, neededBefore) => {
      const removed = await deleteSigningKeys(tx, neededBefore);
      const events = removed.map((item) => ({ action: 'delete', collection: 'signing_keys', item }) as const);
      await activity.record(tx, null, events);
      return removed;
    },

    extend: async (executor, { kid, neededUntil }, now) => {
      const end = now.getTime() + maxTokenLifetime;
      if (neededUntil.getTime() < end + hour) await keepSigningKey(executor, kid, new Date(end + 2 * hour));
    },

    reseal: async (executor) => {
      for (const record of await listSigningKeys(executor)) {
        const { kid, privateKey } = record;
        if (!opened.has(kid)) continue;
        const renewed = box.renew(privateKey, ownerOf(record));
        if (renewed !== privateKey) await resealSigningKey(executor, kid, renewed);
      }
    },
  };
}
