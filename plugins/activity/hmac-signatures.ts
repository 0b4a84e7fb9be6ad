import { createHmac, timingSafeEqual } from 'node:crypto';
import { keyIdOf } from '../platform/key-derivation.js';

/** What a seal says of the text that it is held against. */
export type Judgement = 'right' | 'wrong' | 'unknown key';

export interface Seals {
  /** `<key id>.<HMAC-SHA256>`, in base64url: 52 characters. */
  seal(text: string): string;
  judge(text: string, seal: string): Judgement;
}

/**
 * Proves that a text was written by the service and is as it was then; the text itself is left readable.
 * @param keys the first seals, all of them prove
 */
export function createSeals(keys: readonly [current: Buffer, ...previous: Buffer[]]): Seals {
  const [current] = keys;
  const currentId = keyIdOf(current);
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const macOf = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

  return {
    seal: (text) => `${currentId}.${macOf(current, text).toString('base64url')}`,

    judge: (text, seal) => {
      const [id = '', mac = ''] = seal.split('.');
      const key = byId.get(id);
      if (!key) return 'unknown key';
      const [given, right] = [Buffer.from(mac, 'base64url'), macOf(key, text)];
      return given.length === right.length && timingSafeEqual(given, right) ? 'right' : 'wrong';
    },
  };
}
