import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../platform/clock.js';

/** Milliseconds. */
export const challengeLifetime = 300_000;

/** A challenge that was issued here and has not expired. */
export interface Challenge {
  /** Identifies it among those that have been used. */
  id: string;
  expiresAt: Date;
}

/**
 * Challenges for passkeys. They are signed instead of stored, so they cost the service no storage, however many are requested. Only
 * those that are used are stored, until they expire.
 * @param user the user who adds a passkey; null for a sign-in challenge, where the user is not known yet
 */
export interface Challenges {
  /** In base64url. */
  issue(user: string | null): string;
  /** @returns undefined if the challenge was not issued here for this purpose, or has expired */
  read(challenge: string, user: string | null): Challenge | undefined;
}

const timeLength = 8;
const nonceLength = 16;
const macLength = 32;
const form = /^[A-Za-z0-9_-]{75}$/;

/** @param keys the first one signs, and all of them verify */
export function createChallenges(keys: readonly [current: Buffer, ...previous: Buffer[]], clock: Clock): Challenges {
  const macOf = (key: Buffer, content: Buffer, user: string | null) =>
    createHmac('sha256', key)
      .update(content)
      .update(user === null ? 'login' : `registration ${user}`)
      .digest();

  return {
    issue: (user) => {
      const time = Buffer.alloc(timeLength);
      time.writeBigUInt64BE(BigInt(clock().getTime()));
      const content = Buffer.concat([time, randomBytes(nonceLength)]);
      return Buffer.concat([content, macOf(keys[0], content, user)]).toString('base64url');
    },

    read: (challenge, user) => {
      const bytes = form.test(challenge) ? Buffer.from(challenge, 'base64url') : Buffer.alloc(0);
      if (bytes.length !== timeLength + nonceLength + macLength) return undefined;
      const content = bytes.subarray(0, timeLength + nonceLength);
      const mac = bytes.subarray(timeLength + nonceLength);
      if (!keys.some((key) => timingSafeEqual(macOf(key, content, user), mac))) return undefined;
      const issuedAt = Number(content.readBigUInt64BE());
      // A time in the future comes from an instance whose clock is ahead.
      if (Math.abs(clock().getTime() - issuedAt) >= challengeLifetime) return undefined;
      // From the bytes and not the text, because different last characters can decode to the same bytes.
      const id = createHash('sha256').update(bytes).digest('hex');
      return { id, expiresAt: new Date(issuedAt + challengeLifetime) };
    },
  };
}
