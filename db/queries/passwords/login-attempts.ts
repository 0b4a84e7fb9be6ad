import { and, desc, gt, inArray, lte, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { sqlStateOf } from '../../failures.js';
import { knownNetworks, loginAttempts, settings } from '../../schema.js';
import { fixedStatement } from '../../statements.js';
import { type AttemptRules, lockAfter } from './lockout.js';

/** The keys under which an attempt is counted: for the account from one network, and for the account from anywhere. */
export interface AttemptKeys {
  fromHere: string;
  fromAnywhere: string;
}

/** The data that determines how an attempt is counted. */
export interface AttemptState {
  /** The setting `auth_login_attempts`; null: attempts are not counted. */
  limit: number | null;
  /** Whether the user has logged in from this network before. */
  isKnown: boolean;
  /** The time until which no password is checked, in milliseconds since 1970; null when no lock was ever set. */
  locks: Record<keyof AttemptKeys, number | null>;
}

/** {@link AttemptState} as read from the database. */
export type FoundAttempts = { limit: number | null; known: boolean } & Record<'here' | 'anywhere', number | null>;

/** The columns to select from the settings for an attempt. @param user an expression for the user's id, or null */
export function attemptColumns(user: SQL, value: (name: 'network' | keyof AttemptKeys) => Placeholder): SQL {
  const lockOf = (name: keyof AttemptKeys) =>
    sql`(select (extract(epoch from locked_until) * 1000)::int8 from ${loginAttempts} where key = ${value(name)})`;
  return sql`auth_login_attempts as "limit",
      coalesce((select true from ${knownNetworks} where "user" = ${user} and network = ${value('network')}), false) as known,
      ${lockOf('fromHere')} as here, ${lockOf('fromAnywhere')} as anywhere`;
}

export function attemptStateOf(found: FoundAttempts | undefined): AttemptState {
  if (!found) throw new Error('The row of settings is missing.');
  return { limit: found.limit, isKnown: found.known, locks: { fromHere: found.here, fromAnywhere: found.anywhere } };
}

const state = fixedStatement<Record<'network' | keyof AttemptKeys, string> & { user: string | null }, FoundAttempts>(
  (value) => sql`select ${attemptColumns(sql`${value('user')}::uuid`, value)} from ${settings}`,
);

/** @param user null for an account that does not exist; the same statement runs in that case */
export async function readAttemptState(
  executor: Executor,
  user: string | null,
  network: string,
  keys: AttemptKeys,
): Promise<AttemptState> {
  const [found] = await state(executor, { user, network, ...keys });
  return attemptStateOf(found);
}

/**
 * Goes into the `from` of a statement. The transaction is visible to all others as usual, but does not wait for the disk. If the
 * database server fails at that moment, some attempts of the last half second are lost; no login depends on them.
 */
const withoutWaiting = sql`(select set_config('synchronous_commit', 'off', true)) quick`;

const divisionByZero = '22012';

const reserving = fixedStatement<
  Record<'keys' | 'account' | 'now' | 'kept', string> & Record<keyof AttemptRules, number>,
  { locks: boolean }
>((value) => {
  const failures = sql`(case when ${loginAttempts.lastAttemptAt} <= ${value('kept')}::timestamptz then 1 else ${loginAttempts.failures} + 1 end)`;
  const rules = { limit: value('limit'), firstLockMs: value('firstLockMs'), maxLockMs: value('maxLockMs') };
  const locked = (after: SQL) => lockAfter(after, value('now'), rules);
  // Insert in a fixed order, so that two attempts never deadlock. Either all of the keys are counted or none: a division by zero
  // rolls the whole statement back.
  return sql`with counted as (insert into ${loginAttempts} (key, account, failures, locked_until, last_attempt_at)
    select key, ${value('account')}::varchar, 1, ${locked(sql`1`)}, ${value('now')}::timestamptz
    from unnest(string_to_array(${value('keys')}, ',')) key, ${withoutWaiting} order by key
    on conflict (key) do update
    set account = excluded.account, failures = ${failures}, locked_until = ${locked(failures)}, last_attempt_at = excluded.last_attempt_at
    where ${loginAttempts.lockedUntil} is null or ${loginAttempts.lockedUntil} <= ${value('now')}::timestamptz
    returning locked_until is not null as locks)
    select bool_or(locks) as locks, 1 / (count(*) = cardinality(string_to_array(${value('keys')}, ',')))::integer as all from counted`;
});

/**
 * Counts an attempt as failed under each of the keys, before its password is checked, and commits immediately. So concurrent
 * guesses, however many and on however many instances, gain nothing over consecutive ones.
 * @param account the `fromAnywhere` key of the account
 * @param forgetAfter milliseconds after which failures expire if no further attempt follows
 * @returns `isAllowed`: whether the password may be checked; false while one of the keys is locked, and then nothing is counted.
 *   `locks`: whether this attempt locks one of the keys, unless it is withdrawn
 */
export async function reserveAttempts(
  executor: Executor,
  keys: readonly string[],
  account: string,
  now: Date,
  rules: AttemptRules,
  forgetAfter: number,
): Promise<{ isAllowed: boolean; locks: boolean }> {
  const values = { keys: keys.join(), account, now: now.toISOString(), ...rules };
  const kept = new Date(now.getTime() - forgetAfter).toISOString();
  try {
    const [counted] = await reserving(executor, { ...values, kept });
    return { isAllowed: true, locks: counted?.locks === true };
  } catch (error) {
    if (sqlStateOf(error) !== divisionByZero) throw error;
    return { isAllowed: false, locks: false };
  }
}

/**
 * Shortens locks to `latest` if they would last longer because they were set while a clock was ahead. The shorter time is stored,
 * so that the locks end then, whatever attempts follow.
 */
export async function shortenLocks(
  executor: Executor,
  keys: readonly string[],
  now: Date,
  latest: Date,
): Promise<void> {
  const lockedInOrder = executor
    .select({ key: loginAttempts.key })
    .from(loginAttempts)
    .where(and(inArray(loginAttempts.key, [...keys]), gt(loginAttempts.lockedUntil, latest)))
    .orderBy(loginAttempts.key)
    .for('update');
  await executor
    .update(loginAttempts)
    .set({ lockedUntil: latest, lastAttemptAt: now })
    .where(inArray(loginAttempts.key, lockedInOrder));
}

/** Withdraws an attempt whose password was never checked. */
export async function withdrawAttempts(executor: Executor, keys: readonly string[]): Promise<void> {
  const inOneOrder = executor
    .select({ key: loginAttempts.key })
    .from(loginAttempts)
    .where(inArray(loginAttempts.key, [...keys]))
    .orderBy(loginAttempts.key)
    .for('update');
  await executor
    .update(loginAttempts)
    .set({ failures: sql`greatest(${loginAttempts.failures} - 1, 0)`, lockedUntil: null })
    .where(inArray(loginAttempts.key, inOneOrder));
}

/** Up to two keys, as separate parameters: the server then knows that there are few, and uses the index. */
export type AttemptKeyPair = Record<'oneKey' | 'otherKey', string>;

export const attemptKeyPair = ([oneKey = '', otherKey = oneKey, ...more]: readonly string[]): AttemptKeyPair => {
  if (more.length > 0) throw new Error('An attempt has at most two keys.');
  return { oneKey, otherKey };
};

/** Deletes all attempts under the keys. */
export const forgettingAttempts = (value: (name: keyof AttemptKeyPair) => Placeholder, condition = sql``): SQL => sql`
    delete from ${loginAttempts} where key in (
      select key from ${loginAttempts} where key in (${value('oneKey')}, ${value('otherKey')}) ${condition} order by key for update)`;

const forget = fixedStatement<AttemptKeyPair, Record<never, never>>((value) => forgettingAttempts(value));
const forgetWithoutWaiting = fixedStatement<AttemptKeyPair, Record<never, never>>((value) =>
  forgettingAttempts(value, sql`and exists (select from ${withoutWaiting})`),
);

/** Deletes all attempts under the keys, in the transaction of another change that must be durable. */
export async function forgetAttempts(tx: Executor, keys: readonly string[]): Promise<void> {
  await forget(tx, attemptKeyPair(keys));
}

const forgetAll = fixedStatement<Record<'account', string>, Record<never, never>>(
  (value) => sql`
    delete from ${loginAttempts} where key in (
      select key from ${loginAttempts} where account = ${value('account')} order by key for update)`,
);

/** Deletes all attempts on an account, from every network. @param account its `fromAnywhere` key */
export async function forgetAttemptsAt(tx: Executor, account: string): Promise<void> {
  await forgetAll(tx, { account });
}

/** Deletes the attempts under the keys after a correct password, in a separate transaction. */
export async function clearAttempts(db: Executor, keys: readonly string[]): Promise<void> {
  await forgetWithoutWaiting(db, attemptKeyPair(keys));
}

/**
 * Deletes expired attempts, and the oldest ones when there are more than `max`.
 * @param before attempts that are not newer than this are deleted
 */
export async function deleteOldAttempts(executor: Executor, before: Date, max: number): Promise<void> {
  const oldestKept = executor
    .select({ at: loginAttempts.lastAttemptAt })
    .from(loginAttempts)
    .orderBy(desc(loginAttempts.lastAttemptAt))
    .offset(max)
    .limit(1);
  await executor
    .delete(loginAttempts)
    .where(or(lte(loginAttempts.lastAttemptAt, before), lte(loginAttempts.lastAttemptAt, oldestKept)));
}
