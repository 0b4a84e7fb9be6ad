import type { AttemptRules } from '../../db/queries/passwords/lockout.js';
import { requestsExceeded } from './requests-exceeded.js';

const second = 1_000;

/** Every lock ends, so that the user can sign in again. Milliseconds. */
export const lockRules = { firstLockMs: 30 * second, maxLockMs: 900 * second };

/**
 * How many wrong guesses a signed-in caller has if the setting `auth_login_attempts` is off. A stolen token would otherwise allow
 * guessing without limit, from a network that the user has logged in from.
 */
export const maxGuessesInSession = 25;

/** Counts the failed attempts of a user in a row. */
export interface AttemptCounter {
  limit: number;
  /** The user, if there is one. */
  user: string | null;
  /**
   * Counts an attempt as failed and commits that immediately, or counts nothing while a lock lasts.
   * @returns `locks`: whether this attempt starts a lock if it fails
   */
  reserve(rules: AttemptRules): Promise<{ isAllowed: boolean; locks: boolean }>;
  /** When the lock ends, in milliseconds since 1970. 0 if nothing is locked. */
  readLock(): Promise<number>;
  shortenLock(latest: Date): Promise<void>;
  /** Called when an attempt is rejected because of a lock. */
  onLocked?(until: number): void;
}

/**
 * Counts an attempt before the password or code is checked, so that concurrent guesses gain nothing over consecutive ones. It counts
 * even if a later step fails.
 * @returns whether the account is locked if the attempt fails
 * @throws {ApiError} REQUESTS_EXCEEDED while a lock lasts
 */
export async function countAttempt(counter: AttemptCounter, now: Date): Promise<boolean> {
  const { limit, user } = counter;
  const { isAllowed, locks } = await counter.reserve({ limit, ...lockRules });
  if (isAllowed) return locks;
  const found = await counter.readLock();
  // A longer lock was set while a clock was ahead.
  const until = Math.min(found, now.getTime() + lockRules.maxLockMs);
  if (until < found) await counter.shortenLock(new Date(until));
  // The lock may have ended between the two statements. In that case, the client can retry after a second.
  if (until <= now.getTime()) throw lockedError(limit, user, second, now);
  counter.onLocked?.(until);
  throw lockedError(limit, user, until - now.getTime(), now);
}

/** @param wait milliseconds until the lock ends */
export const lockedError = (limit: number, user: string | null, wait: number, now: Date) =>
  requestsExceeded(limit, wait, now).concerning(user).because('locked');
