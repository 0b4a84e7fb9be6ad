import { and, desc, eq, inArray, lte, or, sql } from 'drizzle-orm';
import { type Executor, rows } from '../client.js';
import { fixedStatement } from '../fixed-statement.js';
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

const state = fixedStatement<
  Record<'user' | 'network' | keyof AttemptKeys, string>,
  { limit: number | null; known: boolean; here: number | null; anywhere: number | null }
>((value) => {
  const lockOf = (name: keyof AttemptKeys) =>
    sql`(select (extract(epoch from locked_until) * 1000)::float8 from ${loginAttempts} where key = ${value(name)})`;
  return sql`select auth_login_attempts as "limit",
      exists (select 1 from ${knownNetworks} where "user" = ${value('user')} and network = ${value('network')}) as known,
      ${lockOf('fromHere')} as here, ${lockOf('fromAnywhere')} as anywhere
    from ${settings}`;
});

/**
 * In the `from` of a statement: its transaction is there for all to see as ever, but does not wait for the disk. Should the
 * server of the database fail that instant, some of the last half second's attempts are forgotten; no login depends on it.
 */
const withoutWaiting = sql`(select set_config('synchronous_commit', 'off', true)) quick`;

/** @param user null for an account that does not exist, for which the same is done */
export async function readAttemptState(
  executor: Executor,
  user: string | null,
  network: string,
  keys: AttemptKeys,
): Promise<AttemptState> {
  const [found] = await state(executor, { user: user ?? nobody, network, ...keys });
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
  const time = sql`${now.toISOString()}::timestamptz`;
  const failures = sql`(case when ${loginAttempts.lastAttemptAt} <= ${kept}::timestamptz then 1 else ${loginAttempts.failures} + 1 end)`;
  try {
    const count = async (tx: Executor) => {
      // In one order for everybody, so that two attempts never wait for each other.
      const reserved = await rows<{ until: unknown }>(
        tx,
        sql`insert into ${loginAttempts} (key, failures, locked_until, last_attempt_at)
          select key, 1, ${lockAfter(sql`1`, now, rules)}, ${time}
          from unnest(string_to_array(${keys.join()}, ',')) key, ${withoutWaiting} order by key
          on conflict (key) do update
          set failures = ${failures}, locked_until = ${lockAfter(failures, now, rules)}, last_attempt_at = ${time}
          where ${loginAttempts.lockedUntil} is null or ${loginAttempts.lockedUntil} <= ${time}
          returning locked_until as until`,
      );
      if (reserved.length < keys.length) throw new Locked();
      return reserved.some(({ until }) => until !== null);
    };
    // Of several all are counted, or none; one needs no transaction for that.
    const locks = await (keys.length === 1 ? count(executor) : transact(executor, count));
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

const forgetting = (andMore = sql``) =>
  fixedStatement<{ keys: string }, Record<never, never>>(
    (value) => sql`
    delete from ${loginAttempts} where key in (
      select key from ${loginAttempts} ${andMore}
      where key = any(string_to_array(${value('keys')}, ',')) order by key for update of login_attempts)`,
  );
const forget = forgetting();
const forgetWithoutWaiting = forgetting(sql`, ${withoutWaiting}`);

/** Forgets all attempts under the keys, in the transaction of something else that is to last. */
export async function forgetAttempts(tx: Executor, keys: readonly string[]): Promise<void> {
  await forget(tx, { keys: keys.join() });
}

/** The same in a transaction of its own, that of a right password. */
export async function clearAttempts(db: Executor, keys: readonly string[]): Promise<void> {
  await forgetWithoutWaiting(db, { keys: keys.join() });
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

const noting = fixedStatement<Record<'user' | 'network' | 'now' | 'before', string>, { network: string }>(
  (value) => sql`
    insert into ${knownNetworks} ("user", network, last_login_at)
    values (${value('user')}, ${value('network')}, ${value('now')})
    on conflict ("user", network) do update set last_login_at = excluded.last_login_at
      where known_networks.last_login_at <= ${value('before')}
    returning network`,
);

/** Notes that a user has logged in from a network; of many, the latest are kept. */
export async function rememberNetwork(tx: Executor, user: string, network: string, now: Date): Promise<void> {
  const before = new Date(now.getTime() - noteAfter);
  const noted = await noting(tx, { user, network, now: now.toISOString(), before: before.toISOString() });
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
