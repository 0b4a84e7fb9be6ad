import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor } from '../../../db/client.js';
import { deleteOldNetworks, rememberNetwork } from '../../../db/queries/auth/known-networks.js';
import {
  type AttemptKeys,
  type AttemptState,
  clearAttempts,
  deleteOldAttempts,
  forgetAttempts,
  forgetAttemptsAt,
  readAttemptState,
  reserveAttempts,
  shortenLocks,
  withdrawAttempts,
} from '../../../db/queries/auth/login-attempts.js';
import { findLoginCandidate, type LoginCandidate } from '../../../db/queries/auth/logins.js';
import { ApiError } from '../../../schemas/errors.js';
import type { Activity } from '../../activity/service.js';
import type { Clock } from '../../platform/clock.js';
import { createKeyedQueue } from '../../platform/keyed-queue.js';
import { accountKey } from '../../platform/normalize-email.js';
import type { Client, Origin } from '../../server/client-info.js';
import type { RateLimits } from '../../server/rate-limits/service.js';
import { requestsExceeded } from '../../server/requests-exceeded.js';
import type { Passwords } from '../passwords/service.js';
import { createLockoutCache } from './lockout-cache.js';

/** The account whose password is checked. */
export interface CheckedAccount {
  /** Null if there is no such user, which the response must not reveal. */
  id: string | null;
  /** As typed or as stored; null for a user without an email address. */
  email: string | null;
  /** The hash; null if no password matches. */
  password: string | null;
}

/** The attempts under which a correct password was counted. They must be cleared. */
export interface CountedAttempts {
  /** For a caller that clears the attempts in the same statement as its other changes. */
  keys: readonly string[];
  /** Clears the attempts immediately. */
  clear(): Promise<void>;
}

/**
 * The only place where a password from a request is checked against that of an account. The service counts an attempt before it
 * checks the password: for the account from this network and, unless the user has logged in from this network before, for the
 * account as a whole. Once the limit in the settings is reached, each further wrong password in a row locks for longer.
 *
 * An address that has sent too many wrong passwords learns nothing more. From there, the service checks only the passwords of
 * users who have logged in from the same network before, and every attempt without the correct password gets the same response
 * in the same time. For all other accounts, the service does the same work, except that it hashes no password.
 */
export interface PasswordChecks {
  /**
   * Whether this is the password of the account.
   * @throws {ApiError} REQUESTS_EXCEEDED, identical whether or not the account exists; SERVICE_UNAVAILABLE
   */
  check(account: CheckedAccount, given: string, client: Client): Promise<boolean>;
  /**
   * Like `check`, for a login with the email address of an account.
   * @param passwordOf returns the hash to check against; null if no password matches
   * @param onRight runs if the password is correct, and clears the attempts
   * @throws {ApiError} INVALID_CREDENTIALS, identical for every reason; REQUESTS_EXCEEDED; SERVICE_UNAVAILABLE
   */
  logIn<T>(
    given: { email: string; password: string },
    client: Client,
    passwordOf: (user: LoginCandidate) => string | null,
    onRight: (user: LoginCandidate, attempts: CountedAttempts) => Promise<T>,
  ): Promise<T>;
  /**
   * Clears the count for a user who has just set a password with a link from an email. A user who can read the emails of an
   * account can always log in to it, whatever attackers do.
   */
  forgive(tx: Executor, user: { id: string; email: string | null }, client: Client): Promise<void>;
  /** Clears the count of wrong passwords for an account from all networks. */
  unlock(tx: Executor, user: { id: string; email: string | null }): Promise<void>;
  /** Deletes expired attempts and networks. */
  clear(): Promise<void>;
}

/** What an attempt is checked against. Read when it is the attempt's turn. */
interface Subject {
  id: string | null;
  password: string | null;
  state: AttemptState;
}

const second = 1_000;
const day = 86_400 * second;

/** Every lock ends, so that the user can log in again with the correct password. Milliseconds. */
export const lockRules = { firstLock: 30 * second, maxLockMs: 900 * second };
export const attemptsCountFor = day;
const networksAreKnownFor = 90 * day;
const maxRows = 1_000_000;
/** Milliseconds. An attempt from an address over its limit is rejected after a multiple of this time. */
const refusalTime = 150;
/** Concurrent checks for one account from one network. Lower than any limit that allows for typing errors. */
const atOnce = 2;

export function createPasswordChecks(deps: {
  db: Executor;
  clock: Clock;
  passwords: Passwords;
  rateLimits: Pick<RateLimits, 'countLogin'>;
  activity: Pick<Activity, 'record'>;
  /** How many checks may wait for their turn at the same time. */
  queue: number;
}): PasswordChecks {
  const { db, clock, passwords, rateLimits, activity, queue } = deps;
  const inTurn = createKeyedQueue(atOnce, queue);
  const lockoutCache = createLockoutCache(clock);
  /** Moving average of the time that a check takes, in milliseconds. */
  let usualTime = 0;

  /** How long these keys are still locked, in milliseconds. */
  const waitFor = ({ locks }: AttemptState, names: readonly (keyof AttemptKeys)[], now: Date) =>
    Math.max(0, ...names.map((name) => (locks[name] ?? 0) - now.getTime()));

  const refuse = async (keys: AttemptKeys, limit: number, found: number, now: Date) => {
    const wait = Math.min(found, lockRules.maxLockMs);
    const until = now.getTime() + wait;
    if (wait < found) await shortenLocks(db, Object.values(keys), now, new Date(until));
    lockoutCache.note(keys.fromHere, { until, limit });
    return requestsExceeded(limit, wait, now);
  };

  const requireUnmet = (key: string) => {
    const met = lockoutCache.find(key);
    if (met) throw requestsExceeded(met.limit, met.until - clock().getTime(), clock());
  };

  /**
   * @param isConfined whether the attempt counts only for this network
   * @returns the keys under which the attempt was counted, and whether a wrong password locks one of them
   * @throws {ApiError} REQUESTS_EXCEEDED
   */
  const reserve = async (
    { id, state }: Subject,
    keys: AttemptKeys,
    network: string,
    isConfined: boolean,
  ): Promise<{ counted: readonly string[]; locks: boolean }> => {
    const { limit } = state;
    if (limit === null) return { counted: [], locks: false };
    const names = isConfined ? (['fromHere'] as const) : (['fromHere', 'fromAnywhere'] as const);
    const now = clock();
    const wait = waitFor(state, names, now);
    if (wait > 0) throw await refuse(keys, limit, wait, now);
    const counted = names.map((name) => keys[name]);
    const { isAllowed, locks } = await reserveAttempts(
      db,
      counted,
      keys.fromAnywhere,
      now,
      { limit, ...lockRules },
      attemptsCountFor,
    );
    if (isAllowed) return { counted, locks };
    // Concurrent attempts have locked a key since the state was read. If the key is unlocked again by now, the client can retry soon.
    const since = waitFor(await readAttemptState(db, id, network, keys), names, now);
    throw since > 0 ? await refuse(keys, limit, since, now) : requestsExceeded(limit, second, now);
  };

  /** Also records locks of accounts that do not exist, because recording takes time, and the time must not reveal it. */
  const recordLock = (user: string | null, client: Client): Promise<void> =>
    activity.record(db, { userId: null, client }, [{ action: 'lock', collection: 'users', item: user }]);

  /** Runs `onRight`. If it fails, the attempts are cleared all the same, because the password was correct. */
  const complete = async <T>(
    counted: readonly string[],
    onRight: (attempts: CountedAttempts) => Promise<T>,
  ): Promise<T> => {
    let left = counted;
    const clear = async () => {
      const forgotten = left;
      left = [];
      if (forgotten.length > 0) await clearAttempts(db, forgotten);
    };
    try {
      return await onRight({ keys: counted, clear });
    } catch (error) {
      await clear().catch(() => {});
      throw error;
    }
  };

  const verify = async (hash: string | null, given: string, from: Origin): Promise<boolean> => {
    const start = performance.now();
    const isRight = await passwords.verify(hash, given, from);
    usualTime += (performance.now() - start - usualTime) / 5;
    return isRight;
  };

  /**
   * Makes one attempt, when it is its turn.
   * @param readSubject called when it is the attempt's turn
   * @returns the result of `onRight`; undefined if the password is wrong
   */
  const tryPassword = async <T>(
    keys: AttemptKeys,
    from: Origin,
    given: string,
    readSubject: () => Promise<Subject>,
    onRight: (attempts: CountedAttempts) => Promise<T>,
  ): Promise<{ result: T } | undefined> => {
    const { client } = from;
    const start = performance.now();
    let counting: Promise<ApiError | null> | undefined;
    /** Counts the attempt once, however often this is called. */
    const countForAddress = () => {
      counting ??= rateLimits.countLogin(client.network);
      return counting;
    };

    const attempt = async (): Promise<{ right: readonly string[] } | { failure: unknown }> => {
      try {
        requireUnmet(keys.fromHere);
        const subject = await readSubject();
        const { isKnown } = subject.state;
        // Counted before the check, so that concurrent attempts cannot exceed the limit.
        const isBarred = !isKnown && (await countForAddress()) !== null;
        const { counted, locks } = await reserve(subject, keys, client.network, isKnown || isBarred);
        if (isBarred) await sleep(usualTime);
        const isRight =
          !isBarred &&
          (await verify(subject.password, given, from).catch(async (error: unknown) => {
            if (counted.length > 0) await withdrawAttempts(db, counted);
            throw error;
          }));
        if (isRight) return { right: counted };
        if (locks) await recordLock(subject.id, client);
        return { failure: null };
      } catch (failure) {
        return { failure };
      }
    };

    const outcome = await inTurn(keys.fromHere, async () => {
      const tried = await attempt();
      if ('right' in tried) return { result: await complete(tried.right, onRight) };
      const { failure } = tried;
      const isAnswer = failure === null || failure instanceof ApiError;
      const exceeded = isAnswer ? await countForAddress() : null;
      if (exceeded) return exceeded;
      if (failure !== null) throw failure;
      return undefined;
    });
    if (!(outcome instanceof ApiError)) return outcome;
    const taken = performance.now() - start;
    await sleep(Math.ceil(taken / refusalTime) * refusalTime - taken);
    throw outcome;
  };

  return {
    check: async ({ id, email, password }, given, client) => {
      const { network } = client;
      const keys = keysOf(email ?? id ?? '', network);
      const readSubject = async () => ({ id, password, state: await readAttemptState(db, id, network, keys) });
      return (
        (await tryPassword(keys, { userId: id, client }, given, readSubject, ({ clear }) => clear())) !== undefined
      );
    },

    logIn: async ({ email, password }, client, passwordOf, onRight) => {
      const { network } = client;
      const keys = keysOf(email, network);
      let user: LoginCandidate | undefined;
      const readSubject = async () => {
        const found = await findLoginCandidate(db, email, network, keys);
        user = found.user;
        return { id: user?.id ?? null, password: user ? passwordOf(user) : null, state: found.attempts };
      };
      const right = await tryPassword(keys, { userId: null, client }, password, readSubject, (attempts) =>
        onRight(user as LoginCandidate, attempts),
      );
      if (!right) throw new ApiError('INVALID_CREDENTIALS').concerning(user?.id);
      return right.result;
    },

    forgive: async (tx, { id, email }, { network }) => {
      const { fromHere, fromAnywhere } = keysOf(email ?? id, network);
      await forgetAttempts(tx, [fromHere, fromAnywhere]);
      await rememberNetwork(tx, id, network, clock());
      lockoutCache.forget(fromHere);
    },

    unlock: async (tx, { id, email }) => {
      await forgetAttemptsAt(tx, keysOf(email ?? id, '').fromAnywhere);
      lockoutCache.forgetAll();
    },

    clear: async () => {
      const now = clock().getTime();
      await deleteOldAttempts(db, new Date(now - attemptsCountFor), maxRows);
      await deleteOldNetworks(db, new Date(now - networksAreKnownFor));
    },
  };
}

/** Hashed, because anyone can type anything into a login form, and the table must not store that. */
function keysOf(account: string, network: string): AttemptKeys {
  const hash = (...parts: string[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const name = accountKey(account);
  return { fromHere: hash(name, network), fromAnywhere: hash(name) };
}
