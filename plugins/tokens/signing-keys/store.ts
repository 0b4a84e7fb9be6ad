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
import type { KeyPairAlgorithm } from '../../../schemas/jwks.js';
import { createSecretBox } from '../../platform/encryption.js';
import { keysFor } from '../../platform/key-derivation.js';
import type { Services } from '../../platform/plugin.js';
import { type KeyPair, makeKeyPair, readKeyPair } from './key-pair.js';

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
  /** Creates a key. @returns its ID */
  add(tx: Executor, algorithm: KeyPairAlgorithm, signsFrom: Date, now: Date): Promise<string>;
  /** Removes all keys, or those that were needed only before `neededBefore`. @returns their IDs */
  remove(tx: Executor, neededBefore?: Date): Promise<string[]>;
  /** Extends `neededUntil` of a key that is still signing. Runs a statement only once an hour. */
  extend(executor: Executor, key: SigningKey, now: Date): Promise<void>;
  /** Reseals keys that were sealed with a previous SECRET, using the current one. */
  reseal(executor: Executor): Promise<void>;
}

const hour = 3_600_000;

/** @param onUnreadable called once for each key that cannot be decrypted */
export function createKeyStore({ config, activity }: Services, onUnreadable: (kid: string) => void): KeyStore {
  const box = createSecretBox(keysFor(config, 'signing-key'));
  /** The longest lifetime of a token. Keys must be available for that long, so that the service can report a token as expired. */
  const maxTokenLifetime = Math.max(config.ACCESS_TOKEN_TTL, config.REFRESH_TOKEN_TTL, config.SESSION_COOKIE_TTL);
  /** Cache of decrypted keys, because decrypting a key takes longer than checking that it still exists. */
  let opened = new Map<string, KeyPair>();
  const unreadable = new Set<string>();

  const open = ({ kid, algorithm, privateKey }: SigningKeyRecord): KeyPair | undefined => {
    try {
      return readKeyPair(kid, algorithm, box.open(privateKey, kid));
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

    add: async (tx, algorithm, signsFrom, now) => {
      const { kid, pem } = await makeKeyPair(algorithm);
      const neededUntil = new Date(signsFrom.getTime() + maxTokenLifetime + 2 * hour);
      await insertSigningKey(tx, {
        kid,
        algorithm,
        privateKey: box.seal(pem, kid),
        createdAt: now,
        signsFrom,
        neededUntil,
      });
      await activity.record(tx, null, [{ action: 'create', collection: 'signing_keys', item: kid }]);
      return kid;
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
      for (const { kid, privateKey } of await listSigningKeys(executor)) {
        if (!opened.has(kid)) continue;
        const renewed = box.renew(privateKey, kid);
        if (renewed !== privateKey) await resealSigningKey(executor, kid, renewed);
      }
    },
  };
}
