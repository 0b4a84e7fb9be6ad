import { createHash, randomBytes } from 'node:crypto';

/** Without `i`, `l`, `o` and `u`: what looks like one of them is read as the digit (https://www.crockford.com/base32.html). */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const amount = 10;
/** Of 5 bits each: 80 bits, which nobody guesses, so that a plain hash is enough to keep them safe. */
const length = 16;
/** Longer than any spelling of a code. */
const longestGiven = 64;

/** Ten new codes, as they are shown: `xxxx-xxxx-xxxx-xxxx`. */
export const newRecoveryCodes = (): string[] => Array.from({ length: amount }, newRecoveryCode);

function newRecoveryCode(): string {
  // 32 divides 256: every character is as likely as any other.
  const characters = [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join('');
  return characters.replace(/(.{4})(?!$)/g, '$1-');
}

/** How a code is kept: SHA-256 in hex. Undefined for what is no recovery code in any spelling. */
export function hashRecoveryCode(given: string): string | undefined {
  if (given.length > longestGiven) return undefined;
  const code = given.replace(/[\s-]/g, '').toLowerCase().replaceAll('o', '0').replace(/[il]/g, '1');
  const isCode = code.length === length && [...code].every((character) => alphabet.includes(character));
  return isCode ? createHash('sha256').update(code).digest('hex') : undefined;
}
