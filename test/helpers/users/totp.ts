import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from 'otpauth';

/** The secret of the test vectors in RFC 6238, appendix B: the ASCII digits `12345678901234567890` in base32. */
export const rfcSecret = { bytes: Buffer.from('12345678901234567890'), base32: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };

export const stepLength = 30_000;

export const stepOf = (moment: Date): number => Math.floor(moment.getTime() / stepLength);

/** The code of a time step (RFC 4226, 5.3; RFC 6238, 4), computed without the library that the service uses. */
export function codeOfStep(step: number, secret: Buffer = rfcSecret.bytes): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0xf;
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}

const bytesOf = (base32: string) => Buffer.from(Secret.fromBase32(base32).bytes);

/** The code that an authenticator app currently shows. @param now the time of another clock */
export const currentCode = (secret: string, now = new Date()): string => codeOfStep(stepOf(now), bytesOf(secret));

/**
 * The code of the previous time step. Each code works only once, so a test that needs two codes uses this one first,
 * and waits only if this code is about to expire.
 */
export async function previousCode(secret: string): Promise<string> {
  const left = stepLength - (Date.now() % stepLength);
  if (left < 6_000) await sleep(left + 1);
  return codeOfStep(stepOf(new Date()) - 1, bytesOf(secret));
}

/** The SHA-1 test vectors of RFC 6238, appendix B: a time and the eight-digit code of `rfcSecret` at that time. */
export const rfcVectors: readonly (readonly [seconds: number, digits: string])[] = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
];
