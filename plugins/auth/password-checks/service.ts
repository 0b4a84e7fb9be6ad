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
import { createTurns } from '../../platform/keyed-queue.js';
import { accountKey } from '../../platform/normalize-email.js';
import type { Client, Origin } from '../../server/client-info.js';
import type { RateLimits } from '../../server/rate-limits/service.js';
import { requestsExceeded } from '../../server/requests-exceeded.js';
import type { Passwords } from '../passwords/service.js';
import { createMetLocks } from './lockout-cache.js';

/** Whose password is checked. */
export interface CheckedAccount {
  /** Null: there is no such user, which must not show. */
  id: string | null;
  /** As it was typed, or as it is stored; null for a user who has none. */
  email: string | null;
  /** The hash; null: nothing matches. */
  password: string | null;
}

/** The attempts that a right password was counted as: they are to be forgotten. */
export interface CountedAttempts {
  /** To be forgotten along with what is written then. */
  keys: readonly string[];
  /** Forgets them at once. */
  clear(): Promise<void>;
}

/**
 * The one place where a password that somebody shows is held against that of an account. Attempts are counted before they are
 * judged: for the account from this network and, where nobody has logged in to it from there, for the account as a whole. From
 * the limit in the settings on, each wrong one in a row locks for longer.
 *
 * An address that has sent too many wrong passwords learns nothing more: only accounts that have logged in from there are still
 * checked, and every attempt without a right password gets the same response in the same time. What an attempt at any other
 * account does then differs from theirs in nothing but that no password is hashed.
 */
export interface PasswordChecks {
  /**
   * Whether this is the password of the account.
   * @throws {ApiError} REQUESTS_EXCEEDED, alike whether or not there is such an account; SERVICE_UNAVAILABLE
   */
  check(account: CheckedAccount, shown: string, client: Client): Promise<boolean>;
  /**
   * The same for somebody who logs in with the address of an account.
   * @param passwordOf the hash to check against; null: nothing matches
   * @param onRight what is done for the user then, and forgets the attempts
   * @throws {ApiError} INVALID_CREDENTIALS, alike for every reason; REQUESTS_EXCEEDED; SERVICE_UNAVAILABLE
   */
  logIn<T>(
    shown: { email: string; password: string },
    client: Client,
    passwordOf: (user: LoginCandidate) => string | null,
    onRight: (user: LoginCandidate, attempts: CountedAttempts) => Promise<T>,
  ): Promise<T>;
  /**
   * Begins the count anew for somebody who has just set a password by a link in a mail: whoever reads the mails of an
   * account gets into it, whatever strangers do.
   */
  forgive(tx: Executor, user: { id: string; email: string | null }, client: Client): Promise<void>;
  /** Clears the count of wrong passwords for an account, from all networks. */
  unlock(tx: Executor, user: { id: string; email: string | null }): Promise<void>;
  /** Clears away what counts no more. */
  clear(): Promise<void>;
}

/** What an attempt is judged by, as read in its turn. */
interface Judged {
  id: string | null;
  password: string | null;
  state: AttemptState;
}

const second = 1_000;
const day = 86_400 * second;

/** The lock ends, and whoever has the right password gets in then. */
export const lockRules = { firstLock: 30 * second, longestLock: 900 * second };
export const attemptsCountFor = day;
const networksAreKnownFor = 90 * day;
const mostRows = 1_000_000;
/** Milliseconds: a whole number of them pass before an attempt from an address with too many is refused. */
const refusalTime = 150;
/** Checks for one account from one network: fewer than any limit that lets people mistype. */
const atOnce = 2;

export function createPasswordChecks(deps: {
  db: Executor;
  clock: Clock;
  passwords: Passwords;
  rateLimits: Pick<RateLimits, 'countLogin'>;
  activity: Pick<Activity, 'record'>;
  /** How many checks may wait for their turn. */
  queue: number;
}): PasswordChecks {
  const { db, clock, passwords, rateLimits, activity, queue } = deps;
  const inTurn = createTurns(atOnce, queue);
  const metLocks = createMetLocks(clock);
  /** How long a check takes at present, in milliseconds. */
  let usualTime = 0;

  /** How long no password is looked at under these keys, in milliseconds. */
  const waitFor = ({ locks }: AttemptState, names: readonly (keyof AttemptKeys)[], now: Date) =>
    Math.max(0, ...names.map((name) => (locks[name] ?? 0) - now.getTime()));

  const refuse = async (keys: AttemptKeys, limit: number, found: number, now: Date) => {
    const wait = Math.min(found, lockRules.longestLock);
    const until = now.getTime() + wait;
    if (wait < found) await shortenLocks(db, Object.values(keys), now, new Date(until));
    metLocks.note(keys.fromHere, { until, limit });
    return requestsExceeded(limit, wait, now);
  };

  const requireUnmet = (key: string) => {
    const met = metLocks.find(key);
    if (met) throw requestsExceeded(met.limit, met.until - clock().getTime(), clock());
  };

  /**
   * @param isConfined whether the attempt counts for this network only
   * @returns the keys under which the attempt was counted, and whether it locks one of them if it is wrong
   * @throws {ApiError} REQUESTS_EXCEEDED
   */
  const reserve = async (
    { id, state }: Judged,
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
    const { mayGoOn, locks } = await reserveAttempts(
      db,
      counted,
      keys.fromAnywhere,
      now,
      { limit, ...lockRules },
      attemptsCountFor,
    );
    if (mayGoOn) return { counted, locks };
    // Locked since it was read, by attempts at the same time; or unlocked again, and then the next one is let through.
    const since = waitFor(await readAttemptState(db, id, network, keys), names, now);
    throw since > 0 ? await refuse(keys, limit, since, now) : requestsExceeded(limit, second, now);
  };

  /** Also of an account that does not exist, as it takes its time. */
  const recordLock = (user: string | null, client: Client): Promise<void> =>
    activity.record(db, { userId: null, client }, [{ action: 'lock', collection: 'users', item: user }]);

  /** Does what follows a right password. Whatever comes of it, the password was right: its attempts are forgotten. */
  const goOn = async <T>(
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

  const verify = async (hash: string | null, shown: string, from: Origin): Promise<boolean> => {
    const start = performance.now();
    const isRight = await passwords.verify(hash, shown, from);
    usualTime += (performance.now() - start - usualTime) / 5;
    return isRight;
  };

  /**
   * One attempt, in its turn.
   * @param look asked when it is the turn of the attempt
   * @returns what `onRight` returns; undefined when the password is another
   */
  const judge = async <T>(
    keys: AttemptKeys,
    from: Origin,
    shown: string,
    look: () => Promise<Judged>,
    onRight: (attempts: CountedAttempts) => Promise<T>,
  ): Promise<{ result: T } | undefined> => {
    const { client } = from;
    const start = performance.now();
    let counting: Promise<ApiError | null> | undefined;
    /** Once for each attempt. */
    const countForAddress = () => {
      counting ??= rateLimits.countLogin(client.network);
      return counting;
    };

    const attempt = async (): Promise<{ right: readonly string[] } | { failure: unknown }> => {
      try {
        requireUnmet(keys.fromHere);
        const judged = await look();
        const { isKnown } = judged.state;
        // Before it is known whether the password is right: so many of them at once get no further.
        const isBarred = !isKnown && (await countForAddress()) !== null;
        const { counted, locks } = await reserve(judged, keys, client.network, isKnown || isBarred);
        if (isBarred) await sleep(usualTime);
        const isRight =
          !isBarred &&
          (await verify(judged.password, shown, from).catch(async (error: unknown) => {
            if (counted.length > 0) await withdrawAttempts(db, counted);
            throw error;
          }));
        if (isRight) return { right: counted };
        if (locks) await recordLock(judged.id, client);
        return { failure: null };
      } catch (failure) {
        return { failure };
      }
    };

    const outcome = await inTurn(keys.fromHere, async () => {
      const tried = await attempt();
      if ('right' in tried) return { result: await goOn(tried.right, onRight) };
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
    check: async ({ id, email, password }, shown, client) => {
      const { network } = client;
      const keys = keysOf(email ?? id ?? '', network);
      const look = async () => ({ id, password, state: await readAttemptState(db, id, network, keys) });
      return (await judge(keys, { userId: id, client }, shown, look, ({ clear }) => clear())) !== undefined;
    },

    logIn: async ({ email, password }, client, passwordOf, onRight) => {
      const { network } = client;
      const keys = keysOf(email, network);
      let user: LoginCandidate | undefined;
      const look = async () => {
        const found = await findLoginCandidate(db, email, network, keys);
        user = found.user;
        return { id: user?.id ?? null, password: user ? passwordOf(user) : null, state: found.attempts };
      };
      const right = await judge(keys, { userId: null, client }, password, look, (attempts) =>
        onRight(user as LoginCandidate, attempts),
      );
      if (!right) throw new ApiError('INVALID_CREDENTIALS').concerning(user?.id);
      return right.result;
    },

    forgive: async (tx, { id, email }, { network }) => {
      const { fromHere, fromAnywhere } = keysOf(email ?? id, network);
      await forgetAttempts(tx, [fromHere, fromAnywhere]);
      await rememberNetwork(tx, id, network, clock());
      metLocks.forget(fromHere);
    },

    unlock: async (tx, { id, email }) => {
      await forgetAttemptsAt(tx, keysOf(email ?? id, '').fromAnywhere);
      metLocks.forgetAll();
    },

    clear: async () => {
      const now = clock().getTime();
      await deleteOldAttempts(db, new Date(now - attemptsCountFor), mostRows);
      await deleteOldNetworks(db, new Date(now - networksAreKnownFor));
    },
  };
}

/** Hashed: strangers type all kinds of things, and the table is no list of them. */
function keysOf(account: string, network: string): AttemptKeys {
  const hash = (...parts: string[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const name = accountKey(account);
  return { fromHere: hash(name, network), fromAnywhere: hash(name) };
}
