import { Secret, TOTP } from 'otpauth';
import { readCode } from '../tokens/typed-codes.js';

const period = 30;
/** The length of a time step, in milliseconds. */
export const stepLength = period * 1000;
const minBits = 128;
const maxSecretLength = 1024;

/**
 * The time step that a code belongs to: the current one or the previous one, because typing a code takes time and clocks
 * differ (RFC 6238, 5.2). Codes use SHA-1, 6 digits and 30 seconds.
 * @param secret in base32
 * @returns null if the code is wrong
 */
export function matchStep(secret: string, given: string, now: Date): number | null {
  const code = readCode(given);
  if (!/^\d{6}$/.test(code)) return null;
  const totp = new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period });
  const currentStep = stepAt(now);
  for (const step of [currentStep, currentStep - 1]) {
    if (totp.validate({ token: code, timestamp: step * period * 1000, window: 0 }) !== null) return step;
  }
  return null;
}

/** The number of the time step that contains this time (RFC 6238, 4.2). */
export const stepAt = (now: Date): number => Math.floor(now.getTime() / stepLength);

/** Creates a secret of 160 bits, the output length of HMAC-SHA-1 (RFC 4226, 4, R6), in base32. */
export const newSecret = (): string => new Secret({ size: 20 }).base32;

/** The URL that authenticator apps read from a QR code. Colons are replaced, because a colon ends the issuer. */
export const otpauthUrl = (secret: string, issuer: string, label: string): string =>
  new TOTP({
    secret: Secret.fromBase32(secret),
    issuer: issuer.replaceAll(':', ' ').trim(),
    label: label.replaceAll(':', ' '),
    algorithm: 'SHA1',
    digits: 6,
    period,
  }).toString();

/**
 * Normalizes a secret from a client to the stored form: upper case, without padding.
 * @returns undefined if it is not base32 (RFC 4648, 6), or is shorter than RFC 4226 (4, R6) allows
 */
export function readSecret(given: string): string | undefined {
  if (given.length > maxSecretLength) return undefined;
  const [, digits = '', padding = ''] = /^([A-Z2-7]+)(=*)$/i.exec(given) ?? [];
  // The last group of digits has 2, 4, 5 or 7 digits if it is incomplete. Padding, if any, must fill it up to 8.
  const last = digits.length % 8;
  if (last === 1 || last === 3 || last === 6) return undefined;
  if (padding !== '' && (last === 0 || padding.length !== 8 - last)) return undefined;
  return Math.floor((digits.length * 5) / 8) * 8 < minBits ? undefined : digits.toUpperCase();
}
