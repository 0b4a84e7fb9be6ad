import { and, desc, eq, inArray, lte, or, type SQL, sql } from 'drizzle-orm';
import { type Executor, rows } from '../client.js';
import { knownNetworks, loginAttempts, settings } from '../schema.js';
import { transact } from '../transact.js';
import { type AttemptRules, lockAfter } from './attempts.js';

/** Under what an attempt is counted: for the account from one network, and for the account from anywhere. */
export interface AttemptKeys {
  fromHere: string;
  fromAnywhere: string;
}

/** What decides how an attempt is counted. */
export interface AttemptState {
  /** `auth_login_attempts` of the settings; null: nothing is counted. */
  limit: number | null;
  /** Whether the user has logged in from this network before. */
  isKnown: boolean;
  /** Until when no password is looked at: milliseconds since 1970; null when no lock was ever set. */
  locks: Record<keyof AttemptKeys, number | null>;
}

const nobody = '00000000-0000-0000-0000-000000000000';

/** @param user null for an account that does not exist, for which the same is done */
export async function readAttemptState(
  executor: Executor,
  user: string | null,
  network: string,
  { fromHere, fromAnywhere }: AttemptKeys,
): Promise<AttemptState> {
  const lockOf = (key: string) =>
    sql`(select (extract(epoch from locked_until) * 1000)::float8 from ${loginAttempts} where ${loginAttempts.key} = ${key})`;
  const [found] = await rows<{ limit: number | null; known: boolean; here: number | null; anywhere: number | null }>(
    executor,
    sql`select auth_login_attempts as "limit",
      exists (select 1 from ${knownNetworks}
        where ${knownNetworks.user} = ${user ?? nobody}::uuid and ${knownNetworks.network} = ${network}) as known,
      ${lockOf(fromHere)} as here, ${lockOf(fromAnywhere)} as anywhere
    from ${settings}`,
  );
  if (!found) throw new Error('The row of settings is missing.');
  return { limit: found.limit, isKnown: found.known, locks: { fromHere: found.here, fromAnywhere: found.anywhere } };
}

/**
 * Counts an attempt as failed under every one of the keys, before its password is looked at and committed at once: so
 * that any number of guesses at the same time, on any number of instances, get no further than one after another.
 * @param forgetAfter milliseconds after which, without a further attempt, failures count no more
 * @returns whether the password may be looked at; it may not, and nothing is counted, while one of the keys is locked. And
 *   whether this attempt locks one of them, unless it is taken back
 */
export async function reserveAttempts(
  executor: Executor,
  keys: readonly string[],
  now: Date,
  rules: AttemptRules,
  forgetAfter: number,
): Promise<{ mayGoOn: boolean; locks: boolean }> {
  const kept = new Date(now.getTime() - forgetAfter).toISOString();
  const failures = sql`(case when ${loginAttempts.lastAttemptAt} <= ${kept}::timestamptz then 1 else ${loginAttempts.failures} + 1 end)`;
  // In one order for everybody, so that two attempts never wait for each other.
  const values = keys.toSorted().map((key) => ({
    key,
    failures: 1,
    lockedUntil: lockAfter(sql`1`, now, rules) as SQL<Date>,
    lastAttemptAt: now,
  }));
  try {
    const locks = await transact(executor, async (tx) => {
      const reserved = await tx
        .insert(loginAttempts)
        .values(values)
        .onConflictDoUpdate({
          target: loginAttempts.key,
          set: { failures, lockedUntil: lockAfter(failures, now, rules), lastAttemptAt: now },
          setWhere: sql`${loginAttempts.lockedUntil} is null or ${loginAttempts.lockedUntil} <= ${now.toISOString()}::timestamptz`,
        })
        .returning({ until: loginAttempts.lockedUntil });
      if (reserved.length < keys.length) throw new Locked();
      return reserved.some(({ until }) => until !== null);
    });
    return { mayGoOn: true, locks };
  } catch (error) {
    if (error instanceof Locked) return { mayGoOn: false, locks: false };
    throw error;
  }
}

/** Ends the transaction of attempts of which not all could be counted. */
class Locked extends Error {}

/** Takes back an attempt whose password was never looked at. */
export async function withdrawAttempts(executor: Executor, keys: readonly string[]): Promise<void> {
  await executor
    .update(loginAttempts)
    .set({ failures: sql`greatest(${loginAttempts.failures} - 1, 0)`, lockedUntil: null })
    .where(inArray(loginAttempts.key, inOneOrder(executor, keys)));
}

/** Forgets all attempts under the keys. */
export async function forgetAttempts(executor: Executor, keys: readonly string[]): Promise<void> {
  await executor.delete(loginAttempts).where(inArray(loginAttempts.key, inOneOrder(executor, keys)));
}

const inOneOrder = (executor: Executor, keys: readonly string[]) =>
  executor
    .select({ key: loginAttempts.key })
    .from(loginAttempts)
    .where(inArray(loginAttempts.key, [...keys]))
    .orderBy(loginAttempts.key)
    .for('update');

const mostNetworks = 20;
/** Milliseconds: a login from a network is noted again only after this. */
const noteAfter = 3_600_000;

/** Notes that a user has logged in from a network; of many, the latest are kept. */
export async function rememberNetwork(tx: Executor, user: string, network: string, now: Date): Promise<void> {
  const noted = await tx
    .insert(knownNetworks)
    .values({ user, network, lastLoginAt: now })
    .onConflictDoUpdate({
      target: [knownNetworks.user, knownNetworks.network],
      set: { lastLoginAt: now },
      setWhere: lte(knownNetworks.lastLoginAt, new Date(now.getTime() - noteAfter)),
    })
    .returning({ user: knownNetworks.user });
  if (noted.length === 0) return;
  const excess = tx
    .select({ network: knownNetworks.network })
    .from(knownNetworks)
    .where(eq(knownNetworks.user, user))
    .orderBy(desc(knownNetworks.lastLoginAt))
    .offset(mostNetworks);
  await tx.delete(knownNetworks).where(and(eq(knownNetworks.user, user), inArray(knownNetworks.network, excess)));
}

/**
 * Clears away what counts no more, and the oldest attempts when there are more than `most`.
 * @param attemptsBefore attempts older than this go
 * @param networksBefore networks without a later login go
 */
export async function deleteOldAttempts(
  executor: Executor,
  attemptsBefore: Date,
  networksBefore: Date,
  most: number,
): Promise<void> {
  const oldestKept = executor
    .select({ at: loginAttempts.lastAttemptAt })
    .from(loginAttempts)
    .orderBy(desc(loginAttempts.lastAttemptAt))
    .offset(most)
    .limit(1);
  await executor
    .delete(loginAttempts)
    .where(or(lte(loginAttempts.lastAttemptAt, attemptsBefore), lte(loginAttempts.lastAttemptAt, oldestKept)));
  await executor.delete(knownNetworks).where(lte(knownNetworks.lastLoginAt, networksBefore));
}
