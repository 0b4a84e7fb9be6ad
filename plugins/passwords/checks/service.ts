import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AttemptKeys,
  clearAttempts,
  readAttemptState,
  withdrawAttempts,
} from '../../../db/queries/passwords/login-attempts.js';
import type { FailureReason } from '../../../schemas/activity.js';
import { ApiError, invalidCredentials } from '../../../schemas/errors.js';
import type { Client, Origin } from '../../http/caller.js';
import type { Services } from '../../platform/plugin.js';
import { type AdmissionQueue, createAdmissionQueue, createPace } from '../../rate-limits/admission-queue.js';
import { maxGuessesInSession } from '../../rate-limits/lockout.js';
import { type CountedSubject, keysOf, type Lockouts, type Subject } from './lockouts.js';

/** The account whose password is checked. */
export interface CheckedAccount {
  id: string;
  /** Null for a user without an email address. */
  email: string | null;
  /** The hash; null if the account has no password, so that every password is wrong. */
  password: string | null;
}

/** One attempt to prove that the user knows a password. It runs when its turn comes. */
export interface PasswordAttempt {
  readonly keys: AttemptKeys;
  /** After a correct password: the keys under which the attempt was counted as failed. They must be cleared. */
  readonly counted: readonly string[];
  /**
   * Counts the attempt, and checks the password.
   * @throws {ApiError} REQUESTS_EXCEEDED, identical whether or not the account exists; SERVICE_UNAVAILABLE
   */
  verify(given: string, subject: Subject): Promise<boolean>;
  /**
   * Like `verify`, for something other than a password.
   * @param check returns undefined if what the user sent is wrong
   */
  verifyBy<T>(subject: CountedSubject, check: () => Promise<T | undefined>): Promise<T | undefined>;
  /** Clears the keys immediately. Not needed if the caller clears them in the same statement as its other changes. */
  clear(): Promise<void>;
}

interface CountedAttempt extends PasswordAttempt {
  counted: readonly string[];
  isRight: boolean;
}

/**
 * The only place where a password from a request is checked against that of an account. The service counts an attempt before it
 * checks the password: for the account from this network and, unless the user has logged in from this network before, for the
 * account as a whole. Once the limit in the settings is reached, each further wrong password in a row causes a longer lock.
 *
 * An address that has sent too many wrong passwords learns nothing more. For its attempts, the service checks only the passwords of
 * users who have logged in from the same network before, and every attempt without the correct password gets the same response
 * in the same time. For all other accounts, the service does the same work, except that it hashes no password.
 */
export interface PasswordChecks {
  /**
   * Runs an attempt when its turn comes. If it fails after the password was found to be correct, the keys are cleared anyway.
   * @param account the email address as typed or as stored; the ID of a user without an address
   * @param from who makes the attempt, as far as this is known beforehand
   * @param work must call `verify`, and throw an ApiError if the password is wrong
   * @throws {ApiError} the error of `work`, or REQUESTS_EXCEEDED instead
   */
  runAttempt<T>(account: string, from: Origin, work: (attempt: PasswordAttempt) => Promise<T>): Promise<T>;
  /**
   * Requires the password of an account that is already known.
   * @throws {ApiError} INVALID_CREDENTIALS, REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
   */
  require(account: CheckedAccount, given: string, client: Client): Promise<void>;
  /**
   * Like `require`, for something other than a password.
   * @param check returns undefined if what the user sent is wrong
   * @param reason what the audit log gives as the reason for a failure
   */
  requireBy<T>(
    account: Pick<CheckedAccount, 'id' | 'email'>,
    client: Client,
    check: () => Promise<T | undefined>,
    reason: FailureReason,
  ): Promise<T>;
}

/** Milliseconds. An attempt from an address over its limit is rejected after a multiple of this time. */
const refusalTime = 150;
/**
 * Concurrent checks for one account from one network. Lower than any sensible limit on wrong passwords, which must allow for typing
 * errors.
 */
const atOnce = 2;

export function createPasswordChecks(
  { config, db, passwords, rateLimits, activity }: Services,
  lockouts: Pick<Lockouts, 'requireUnlocked' | 'reserve'>,
): PasswordChecks {
  // How many attempts on one account from one network may wait, and for how long.
  const inTurn = createTurns(config.PASSWORD_HASH_QUEUE, config.PASSWORD_HASH_MAX_WAIT);

  /** Also records locks of accounts that do not exist, so that the response time does not reveal whether the account exists. */
  const recordLock = (user: string | null, client: Client): Promise<void> =>
    activity.record(db, { userId: null, client }, [{ action: 'lock', collection: 'users', item: user }]);

  /** @param countForAddress returns REQUESTS_EXCEEDED if too many attempts came from the address */
  const createAttempt = (
    keys: AttemptKeys,
    from: Origin,
    countForAddress: () => Promise<ApiError | null>,
  ): CountedAttempt => {
    const { client } = from;
    const attempt: CountedAttempt = {
      keys,
      counted: [],
      isRight: false,

      verify: async (given, subject) => {
        const check = async () => (await passwords.verify(subject.password, given, from)) || undefined;
        return (await attempt.verifyBy(subject, check)) === true;
      },

      verifyBy: async (subject, check) => {
        const { isKnown } = subject.state;
        // Counted before the check, so that concurrent attempts cannot exceed the limit.
        const isOverLimit = !isKnown && (await countForAddress()) !== null;
        const { counted, locks } = await lockouts.reserve(subject, keys, client.network, isKnown || isOverLimit);
        if (isOverLimit) await sleep(passwords.expectedMs());
        const result = isOverLimit
          ? undefined
          : await check().catch(async (error: unknown) => {
              if (counted.length > 0) await withdrawAttempts(db, counted);
              throw error;
            });
        attempt.isRight = result !== undefined;
        if (attempt.isRight) attempt.counted = counted;
        else if (locks) await recordLock(subject.id, client);
        return result;
      },

      clear: async () => {
        const { counted } = attempt;
        attempt.counted = [];
        if (counted.length > 0) await clearAttempts(db, counted);
      },
    };
    return attempt;
  };

  const runAttempt: PasswordChecks['runAttempt'] = async (account, from, work) => {
    const { network } = from.client;
    const keys = keysOf(account, network);
    const start = performance.now();
    let counting: Promise<ApiError | null> | undefined;
    /** Counts the attempt once, however often this is called. */
    const countForAddress = () => {
      counting ??= rateLimits.countLogin(network);
      return counting;
    };

    const outcome = await inTurn(keys.fromHere, from, async () => {
      const attempt = createAttempt(keys, from, countForAddress);
      try {
        lockouts.requireUnlocked(keys);
        return { result: await work(attempt) };
      } catch (error) {
        if (attempt.isRight) {
          await attempt.clear().catch(() => {});
          throw error;
        }
        const exceeded = error instanceof ApiError ? await countForAddress() : null;
        if (exceeded) return exceeded;
        throw error;
      }
    });
    if (!(outcome instanceof ApiError)) return outcome.result;
    const taken = performance.now() - start;
    await sleep(Math.ceil(taken / refusalTime) * refusalTime - taken);
    throw outcome;
  };

  const readStateInSession = async (
    id: string,
    { network }: Client,
    keys: AttemptKeys,
  ): Promise<CountedSubject['state']> => {
    const state = await readAttemptState(db, id, network, keys);
    return { ...state, limit: state.limit ?? maxGuessesInSession, isOnlyInSession: state.limit === null };
  };

  return {
    runAttempt,

    require: ({ id, email, password }, given, client) =>
      runAttempt(email ?? id, { userId: id, client }, async ({ keys, verify, clear }) => {
        const state = await readStateInSession(id, client, keys);
        if (!(await verify(given, { id, password, state }))) {
          const reason = password === null ? 'no_password' : 'wrong_password';
          throw invalidCredentials(id, reason);
        }
        await clear();
      }),

    requireBy: ({ id, email }, client, check, reason) =>
      runAttempt(email ?? id, { userId: id, client }, async ({ keys, verifyBy, clear }) => {
        const state = await readStateInSession(id, client, keys);
        const result = await verifyBy({ id, state }, check);
        if (result === undefined) throw invalidCredentials(id, reason);
        await clear();
        return result;
      }),
  };
}

/**
 * Gives the attempts under each key a queue of their own. Attempts are counted before they are known to be correct, so a user with
 * many concurrent correct attempts would otherwise reach the limit for wrong ones.
 */
function createTurns(capacity: number, maxWaitMs: number) {
  const queues = new Map<string, AdmissionQueue>();
  const pace = createPace(atOnce);

  return async <T>(key: string, from: Origin, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? createAdmissionQueue({ atOnce, capacity, maxWaitMs, pace });
    queues.set(key, queue);
    try {
      return await queue.push(from, work);
    } finally {
      const { started, waiting } = queue.load();
      if (started + waiting === 0 && queues.get(key) === queue) queues.delete(key);
    }
  };
}
