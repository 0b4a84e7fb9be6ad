import { createHmac, timingSafeEqual } from 'node:crypto';
import { keyIdOf } from '../platform/key-derivation.js';

/** The result of checking a signature against a text. */
export type SignatureCheck = 'valid' | 'invalid' | 'unknown key';

export interface Signatures {
  /** `<key id>.<HMAC-SHA256>`, in base64url: 52 characters. */
  sign(text: string): string;
  verify(text: string, signature: string): SignatureCheck;
}

/**
 * Signatures prove that the service wrote a text, and that the text has not changed since. They do not encrypt the text.
 * @param keys the first one creates signatures, and all of them verify
 */
export function createSignatures(keys: readonly [current: Buffer, ...previous: Buffer[]]): Signatures {
  const [current] = keys;
  const currentId = keyIdOf(current);
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const macOf = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

  return {
    sign: (text) => `${currentId}.${macOf(current, text).toString('base64url')}`,

    verify: (text, signature) => {
      const [id = '', mac = ''] = signature.split('.');
      const key = byId.get(id);
      if (!key) return 'unknown key';
      const [given, expected] = [Buffer.from(mac, 'base64url'), macOf(key, text)];
      return given.length === expected.length && timingSafeEqual(given, expected) ? 'valid' : 'invalid';
    },
  };
}
