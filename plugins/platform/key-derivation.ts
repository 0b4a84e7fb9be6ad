import { createHash, hkdfSync } from 'node:crypto';

/** What a key is for. Each purpose has its own, so that nothing made for one is ever accepted for another. */
export type KeyPurpose =
  | 'access-token'
  | 'refresh-token'
  | 'link-token'
  | 'tfa-secret'
  | 'provider-login'
  | 'activity'
  | 'cursor'
  | 'signing-key';

/** The keys of one purpose: the first is for making things, all of them are for accepting what was made. */
export const keysFor = (
  { SECRET, PREVIOUS_SECRETS }: { SECRET: string; PREVIOUS_SECRETS: readonly string[] },
  purpose: KeyPurpose,
): [current: Buffer, ...previous: Buffer[]] => [
  deriveKey(SECRET, purpose),
  ...PREVIOUS_SECRETS.map((secret) => deriveKey(secret, purpose)),
];

/** Derives the 256-bit key of one purpose from SECRET (HKDF-SHA256, RFC 5869). */
export function deriveKey(secret: string, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `gatehouse/${purpose}`, 32));
}

/** Tells which key something was made with, and nothing about the key. */
export const keyIdOf = (key: Buffer): string =>
  createHash('sha256').update('gatehouse/key-id').update(key).digest('base64url').slice(0, 8);
