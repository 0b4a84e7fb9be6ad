import { createHmac, randomBytes, randomInt } from 'node:crypto';
import { readCode } from './typed-codes.js';

/** What a code from an email is for. */
export type EmailCodePurpose = 'login' | 'reauthentication';

/** How long a request for a code is valid, in milliseconds. */
export const emailCodeLifetime = 600_000;

/** How many wrong codes void a request. */
export const maxWrongCodes = 5;

/** A new code and a new token, and what is stored of them. */
export interface NewEmailCode {
  /** Six digits. */
  code: string;
  codeHash: string;
  token: string;
  tokenHash: string;
}

/**
 * Codes and tokens that are sent by email to sign a user in or to confirm their identity. They are stored as keyed hashes. The hash
 * functions return one hash for each key, the current one first.
 */
export interface EmailCodes {
  create(purpose: EmailCodePurpose, userId: string): NewEmailCode;
  codeHashes(purpose: EmailCodePurpose, userId: string, code: string): [current: string, ...previous: string[]];
  /** Empty if this cannot be a token. */
  tokenHashes(token: string): string[];
  bindingHashes(binding: Binding): [current: string, ...previous: string[]];
}

/** What identifies the requester: a browser by its cookie, an app by a secret of its own, or a session. */
export type Binding = readonly [kind: 'browser' | 'app' | 'session', value: string];

const tokenForm = /^[A-Za-z0-9_-]{43}$/;

/** @param keys the first one hashes what is stored, and all of them hash what is checked */
export function createEmailCodes(keys: readonly [current: Buffer, ...previous: Buffer[]]): EmailCodes {
  const [currentKey, ...previousKeys] = keys;
  const hashesOf = (...parts: string[]): [string, ...string[]] => {
    const hash = (key: Buffer) => createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
    return [hash(currentKey), ...previousKeys.map(hash)];
  };
  const codeHashes: EmailCodes['codeHashes'] = (purpose, userId, code) =>
    hashesOf('code', purpose, userId, readCode(code));

  return {
    create: (purpose, userId) => {
      const code = String(randomInt(1_000_000)).padStart(6, '0');
      const token = randomBytes(32).toString('base64url');
      const [codeHash] = codeHashes(purpose, userId, code);
      const [tokenHash] = hashesOf('token', token);
      return { code, codeHash, token, tokenHash };
    },
    codeHashes,
    tokenHashes: (token) => (tokenForm.test(token) ? hashesOf('token', token) : []),
    bindingHashes: ([kind, value]) => hashesOf(kind, value),
  };
}
