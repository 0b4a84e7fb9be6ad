import { createHash, hkdfSync } from 'node:crypto';

/** The purpose of a key. Each purpose has its own key, so that a token for one purpose is never accepted for another. */
export type KeyPurpose =
  | 'access-token'
  | 'refresh-token'
  | 'link-token'
  | 'email-code'
  | 'known-browser'
  | 'passkey-challenge'
  | 'tfa-secret'
  | 'provider-login'
  | 'activity'
  | 'cursor'
  | 'idempotency'
  | 'signing-key'
  | 'oauth'
  | 'secret-check';

/** The keys for one purpose. The first one signs or encrypts, and all of them verify or decrypt. */
export const keysFor = (
  { SECRET, PREVIOUS_SECRETS }: { SECRET: string; PREVIOUS_SECRETS: readonly string[] },
  purpose: KeyPurpose,
): [current: Buffer, ...previous: Buffer[]] => [
  deriveKey(SECRET, purpose),
  ...PREVIOUS_SECRETS.map((secret) => deriveKey(secret, purpose)),
];

/** Derives the 256-bit key for one purpose from a secret (HKDF-SHA256, RFC 5869). */
export function deriveKey(secret: string, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `gatehouse/${purpose}`, 32));
}

/** An identifier for a key that reveals nothing about the key itself. */
export const keyIdOf = (key: Buffer): string =>
  createHash('sha256').update('gatehouse/key-id').update(key).digest('base64url').slice(0, 8);
