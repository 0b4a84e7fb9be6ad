import { hkdfSync } from 'node:crypto';

/** What a key is for. Each purpose has its own, so that nothing made for one is ever accepted for another. */
export type KeyPurpose = 'access-token' | 'refresh-token' | 'link-token' | 'tfa-secret' | 'provider-login';

/** Derives the 256-bit key of one purpose from SECRET (HKDF-SHA256, RFC 5869). */
export function deriveKey(secret: string, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `gatehouse/${purpose}`, 32));
}
