import { createHash } from 'node:crypto';
import type { Executor } from '../../../db/client.js';
import {
  type AttemptKeys,
  type AttemptState,
  deleteOldAttempts,
  forgetAttempts,
  forgetAttemptsAt,
  readAttemptState,
  reserveAttempts,
  shortenLocks,
} from '../../../db/queries/passwords/login-attempts.js';
import { deleteOldNetworks, rememberOrigin } from '../../../db/queries/sessions/logins.js';
import { type Client, deviceKeyOf, normalizeEmail } from '../../http/caller.js';
import type { Clock } from '../../platform/clock.js';
import type { Services } from '../../platform/plugin.js';
import { type AttemptCounter, countAttempt, lockedError } from '../../rate-limits/lockout.js';

/** The account whose attempts are counted. Read its state when the attempt's turn comes. */
export interface CountedSubject {
  /** Null if there is no such user, which the response must not reveal. */
  id: string | null;
  /** `isOnlyInSession`: the limit does not apply to logins. */
  state: AttemptState & { isOnlyInSession?: boolean };
}

/** What a password is checked against. */
export interface Subject extends CountedSubject {
  /** The hash; null if no password matches. */
  password: string | null;
}

/** Counts failed attempts, and locks accounts after too many. */
export interface Lockouts {
  /** @throws {ApiError} REQUESTS_EXCEEDED if an attempt under these keys has just been rejected */
  requireUnlocked(keys: AttemptKeys): void;
  /**
   * Counts an attempt as failed, before its password is checked.
   * @param isConfined whether the attempt counts only for this network
   * @returns the keys under which the attempt was counted, and whether a wrong password locks one of them
   * @throws {ApiError} REQUESTS_EXCEEDED
   */
  reserve(
    subject: CountedSubject,
    keys: AttemptKeys,
    network: string,
    isConfined: boolean,
  ): Promise<{ counted: readonly string[]; locks: boolean }>;
  /**
   * Clears the count after a user sets a password with a link from an email. Attackers can therefore never keep users out of their
   * accounts as long as these users can read their email.
   */
  clearAttempts(tx: Executor, user: { id: string; email: string | null }, client: Client): Promise<void>;
  /** Clears the count for a user from all networks. */
  unlock(tx: Executor, user: { id: string; email: string | null }): Promise<void>;
  /** Deletes expired attempts and networks. */
  deleteExpired(): Promise<void>;
}

/** Milliseconds. */
const day = 86_400_000;

export const attemptsCountFor = day;
/** How long the service knows the networks and browsers from which a user has signed in. Milliseconds. */
export const networksAreKnownFor = 90 * day;
const maxRows = 1_000_000;

export function createLockouts({ db, clock }: Services): Lockouts {
  const cache = createLockoutCache(clock);

  return {
    requireUnlocked: ({ fromHere }) => {
      const lock = cache.find(fromHere);
      if (lock) throw lockedError(lock.limit, lock.subject, lock.until - clock().getTime(), clock());
    },

    reserve: async ({ id, state }, keys, network, isConfined) => {
      const { limit } = state;
      if (limit === null) return { counted: [], locks: false };
      const names = isConfined ? (['fromHere'] as const) : (['fromHere', 'fromAnywhere'] as const);
      const now = clock();
      const counted = names.map((name) => keys[name]);
      const lockIn = ({ locks }: AttemptState) => Math.max(...names.map((name) => locks[name] ?? 0));
      const isLocked = lockIn(state) > now.getTime();
      const counter: AttemptCounter = {
        limit,
        user: id,
        reserve: async (rules) =>
          isLocked
            ? { isAllowed: false, locks: false }
            : reserveAttempts(db, counted, keys.fromAnywhere, now, rules, attemptsCountFor),
        // Concurrent attempts may have locked a key since the state was read.
        readLock: async () => lockIn(isLocked ? state : await readAttemptState(db, id, network, keys)),
        shortenLock: (latest) => shortenLocks(db, Object.values(keys), now, latest),
        onLocked: (until) => {
          // The lock must not affect logins, whose limit is off.
          if (!state.isOnlyInSession) cache.note(keys.fromHere, { until, limit, subject: id });
        },
      };
      return { counted, locks: await countAttempt(counter, now) };
    },

    clearAttempts: async (tx, { id, email }, { network, userAgent }) => {
      const { fromHere, fromAnywhere } = keysOf(email ?? id, network);
      await forgetAttempts(tx, [fromHere, fromAnywhere]);
      await rememberOrigin(tx, id, { network, device: deviceKeyOf(userAgent) }, clock());
      cache.forget(fromHere);
    },

    unlock: async (tx, { id, email }) => {
      await forgetAttemptsAt(tx, keysOf(email ?? id, '').fromAnywhere);
      cache.forgetAll();
    },

    deleteExpired: async () => {
      const now = clock().getTime();
      await deleteOldAttempts(db, new Date(now - attemptsCountFor), maxRows);
      await deleteOldNetworks(db, new Date(now - networksAreKnownFor));
    },
  };
}

/** The keys of an account’s attempts. Hashed, because anyone can type anything into a login form, and the table must not store that. */
export function keysOf(account: string, network: string): AttemptKeys {
  const hash = (...parts: string[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const name = normalizeEmail(account);
  return { fromHere: hash(name, network), fromAnywhere: hash(name) };
}

/** A lock that caused an attempt to be rejected. */
interface CachedLock {
  /** Milliseconds since 1970. */
  until: number;
  limit: number;
  /** The user whose account is locked, or null. */
  subject: string | null;
}

interface LockoutCache {
  note(key: string, lock: CachedLock): void;
  find(key: string): CachedLock | undefined;
  forget(key: string): void;
  forgetAll(): void;
}

const rememberedFor = 1_000;
const capacity = 10_000;

/**
 * Remembers for a second which locks rejected an attempt, so that a flood of guesses does not become a flood of database
 * queries. It does not remember them for longer, because another instance may end a lock.
 */
function createLockoutCache(clock: Clock): LockoutCache {
  const locks = new Map<string, CachedLock & { stale: number }>();

  return {
    note: (key, lock) => {
      locks.delete(key);
      locks.set(key, { ...lock, stale: Math.min(clock().getTime() + rememberedFor, lock.until) });
      const [oldest] = locks.keys();
      if (locks.size > capacity && oldest !== undefined) locks.delete(oldest);
    },
    find: (key) => {
      const lock = locks.get(key);
      const now = clock().getTime();
      // An entry that would be remembered for longer was created while the clock was ahead.
      if (!lock || (now < lock.stale && lock.stale <= now + rememberedFor)) return lock;
      locks.delete(key);
      return undefined;
    },
    forget: (key) => void locks.delete(key),
    forgetAll: () => locks.clear(),
  };
}
