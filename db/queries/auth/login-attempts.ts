import { and, desc, gt, inArray, lte, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { sqlStateOf } from '../../failures.js';
import { fixedStatement } from '../../fixed-statement.js';
import { knownNetworks, loginAttempts, settings } from '../../schema.js';
import { beginAnewOnDeadlock } from '../../transact.js';
import { type AttemptRules, lockAfter } from './lockout.js';

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

/** {@link AttemptState} as it is read. */
export type FoundAttempts = { limit: number | null; known: boolean } & Record<'here' | 'anywhere', number | null>;

/** What is selected from the settings for an attempt. @param user their id, or null */
export function attemptColumns(user: SQL, value: (name: 'network' | keyof AttemptKeys) => Placeholder): SQL {
  const lockOf = (name: keyof AttemptKeys) =>
    sql`(select (extract(epoch from locked_until) * 1000)::float8 from ${loginAttempts} where key = ${value(name)})`;
  return sql`auth_login_attempts as "limit",
      coalesce((select true from ${knownNetworks} where "user" = ${user} and network = ${value('network')}), false) as known,
      ${lockOf('fromHere')} as here, ${lockOf('fromAnywhere')} as anywhere`;
}

export function stateOf(found: FoundAttempts | undefined): AttemptState {
  if (!found) throw new Error('The row of settings is missing.');
  return { limit: found.limit, isKnown: found.known, locks: { fromHere: found.here, fromAnywhere: found.anywhere } };
}

const state = fixedStatement<Record<'network' | keyof AttemptKeys, string> & { user: string | null }, FoundAttempts>(
  (value) => sql`select ${attemptColumns(sql`${value('user')}::uuid`, value)} from ${settings}`,
);

/** @param user null for an account that does not exist, for which the same is done */
export async function readAttemptState(
  executor: Executor,
  user: string | null,
  network: string,
  keys: AttemptKeys,
): Promise<AttemptState> {
  const [found] = await state(executor, { user, network, ...keys });
  return stateOf(found);
}

/**
 * In the `from` of a statement: its transaction is there for all to see as ever, but does not wait for the disk. Should the
 * server of the database fail that instant, some of the last half second's attempts are forgotten; no login depends on it.
 */
const withoutWaiting = sql`(select set_config('synchronous_commit', 'off', true)) quick`;

const divisionByZero = '22012';

const reserving = fixedStatement<
  Record<'keys' | 'account' | 'now' | 'kept', string> & Record<keyof AttemptRules, number>,
  { locks: boolean }
>((value) => {
  const failures = sql`(case when ${loginAttempts.lastAttemptAt} <= ${value('kept')}::timestamptz then 1 else ${loginAttempts.failures} + 1 end)`;
  const rules = { limit: value('limit'), firstLock: value('firstLock'), longestLock: value('longestLock') };
  const locked = (after: SQL) => lockAfter(after, value('now'), rules);
  // In one order for everybody, so that two attempts never wait for each other. Of several all are counted, or none: a division
  // by zero takes them all back.
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
 * Counts an attempt as failed under every one of the keys, before its password is looked at and committed at once: so
 * that any number of guesses at the same time, on any number of instances, get no further than one after another.
 * @param account the key of the account from anywhere
 * @param forgetAfter milliseconds after which, without a further attempt, failures count no more
 * @returns whether the password may be looked at; it may not, and nothing is counted, while one of the keys is locked. And
 *   whether this attempt locks one of them, unless it is taken back
 */
export async function reserveAttempts(
  executor: Executor,
  keys: readonly string[],
  account: string,
  now: Date,
  rules: AttemptRules,
  forgetAfter: number,
): Promise<{ mayGoOn: boolean; locks: boolean }> {
  const values = { keys: keys.join(), account, now: now.toISOString(), ...rules };
  const kept = new Date(now.getTime() - forgetAfter).toISOString();
  try {
    const [counted] = await beginAnewOnDeadlock(() => reserving(executor, { ...values, kept }));
    return { mayGoOn: true, locks: counted?.locks === true };
  } catch (error) {
    if (sqlStateOf(error) !== divisionByZero) throw error;
    return { mayGoOn: false, locks: false };
  }
}

/**
 * Ends locks at `latest` that would last longer because they were set while a clock was ahead. This is stored, so that they end
 * at that time, whatever attempts follow.
 */
export async function shortenLocks(
  executor: Executor,
  keys: readonly string[],
  now: Date,
  latest: Date,
): Promise<void> {
  const inOneOrder = executor
    .select({ key: loginAttempts.key })
    .from(loginAttempts)
    .where(and(inArray(loginAttempts.key, [...keys]), gt(loginAttempts.lockedUntil, latest)))
    .orderBy(loginAttempts.key)
    .for('update');
  await beginAnewOnDeadlock(() =>
    executor
      .update(loginAttempts)
      .set({ lockedUntil: latest, lastAttemptAt: now })
      .where(inArray(loginAttempts.key, inOneOrder)),
  );
}

/** Takes back an attempt whose password was never looked at. */
export async function withdrawAttempts(executor: Executor, keys: readonly string[]): Promise<void> {
  const inOneOrder = executor
    .select({ key: loginAttempts.key })
    .from(loginAttempts)
    .where(inArray(loginAttempts.key, [...keys]))
    .orderBy(loginAttempts.key)
    .for('update');
  await beginAnewOnDeadlock(() =>
    executor
      .update(loginAttempts)
      .set({ failures: sql`greatest(${loginAttempts.failures} - 1, 0)`, lockedUntil: null })
      .where(inArray(loginAttempts.key, inOneOrder)),
  );
}

/** Up to two keys, each by itself: the server then knows how few they are, and uses the index. */
export type FewKeys = Record<'oneKey' | 'otherKey', string>;

export const fewKeys = ([oneKey = '', otherKey = oneKey, ...more]: readonly string[]): FewKeys => {
  if (more.length > 0) throw new Error('An attempt has two keys at the most.');
  return { oneKey, otherKey };
};

/** Forgets all attempts under the keys. */
export const forgettingAttempts = (value: (name: keyof FewKeys) => Placeholder, condition = sql``): SQL => sql`
    delete from ${loginAttempts} where key in (
      select key from ${loginAttempts} where key in (${value('oneKey')}, ${value('otherKey')}) ${condition} order by key for update)`;

const forget = fixedStatement<FewKeys, Record<never, never>>((value) => forgettingAttempts(value));
const forgetWithoutWaiting = fixedStatement<FewKeys, Record<never, never>>((value) =>
  forgettingAttempts(value, sql`and exists (select from ${withoutWaiting})`),
);

/** Forgets all attempts under the keys, in the transaction of something else that is to last. */
export async function forgetAttempts(tx: Executor, keys: readonly string[]): Promise<void> {
  await forget(tx, fewKeys(keys));
}

const forgetAll = fixedStatement<Record<'account', string>, Record<never, never>>(
  (value) => sql`
    delete from ${loginAttempts} where key in (
      select key from ${loginAttempts} where account = ${value('account')} or key = ${value('account')} order by key for update)`,
);

/** Forgets all attempts at an account, from every network. @param account its key from anywhere */
export async function forgetAttemptsAt(tx: Executor, account: string): Promise<void> {
  await forgetAll(tx, { account });
}

/** Forgets attempts under the keys in a transaction of its own, that of a right password. */
export async function clearAttempts(db: Executor, keys: readonly string[]): Promise<void> {
  await beginAnewOnDeadlock(() => forgetWithoutWaiting(db, fewKeys(keys)));
}

/**
 * Clears away what counts no more, and the oldest attempts when there are more than `most`.
 * @param before attempts older than this go
 */
export async function deleteOldAttempts(executor: Executor, before: Date, most: number): Promise<void> {
  const oldestKept = executor
    .select({ at: loginAttempts.lastAttemptAt })
    .from(loginAttempts)
    .orderBy(desc(loginAttempts.lastAttemptAt))
    .offset(most)
    .limit(1);
  await executor
    .delete(loginAttempts)
    .where(or(lte(loginAttempts.lastAttemptAt, before), lte(loginAttempts.lastAttemptAt, oldestKept)));
}
