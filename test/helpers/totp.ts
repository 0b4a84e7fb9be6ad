import { createHmac } from 'node:crypto';

/** The secret of the test vectors in RFC 6238, appendix B: the ASCII digits `12345678901234567890` in base32. */
export const rfcSecret = { bytes: Buffer.from('12345678901234567890'), base32: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };

export const stepLength = 30_000;

export const stepOf = (moment: Date): number => Math.floor(moment.getTime() / stepLength);

/** The code of a time step (RFC 4226, 5.3; RFC 6238, 4), worked out without the library that the service uses. */
export function codeOfStep(step: number, secret: Buffer = rfcSecret.bytes): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0xf;
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}
