import { createHash, randomBytes } from 'node:crypto';
import { readCode } from '../tokens/typed-codes.js';

/** Has no `i`, `l`, `o`, or `u`: `i`, `l` and `o` are read as the digits that they look like (https://www.crockford.com/base32.html). */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const amount = 10;
/** 16 characters of 5 bits each give 80 bits. That is too many to guess, so a fast hash is sufficient for storage. */
const length = 16;
/** Characters. Longer than any valid way of writing a code. */
const maxInputLength = 64;

/** Creates ten codes in the form that users see: `xxxx-xxxx-xxxx-xxxx`. */
export const newRecoveryCodes = (): string[] => Array.from({ length: amount }, newRecoveryCode);

function newRecoveryCode(): string {
  // 256 is a multiple of 32, so all characters are equally likely.
  const characters = [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join('');
  return characters.replace(/(.{4})(?!$)/g, '$1-');
}

/** The stored form of a code: SHA-256 in hex. Undefined if the text cannot be a recovery code. */
export function hashRecoveryCode(given: string): string | undefined {
  if (given.length > maxInputLength) return undefined;
  const code = readCode(given)
    .replace(/\p{Pd}/gu, '')
    .toLowerCase()
    .replaceAll('o', '0')
    .replace(/[il]/g, '1');
  const isCode = code.length === length && [...code].every((character) => alphabet.includes(character));
  return isCode ? createHash('sha256').update(code).digest('hex') : undefined;
}
