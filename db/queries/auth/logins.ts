import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { fixedStatement } from '../../fixed-statement.js';
import { inLowerCase } from '../../lower-case.js';
import { sessions, settings, users } from '../../schema.js';
import { retryOnDeadlock } from '../../transact.js';
import { findPrincipalBySession, type PrincipalRecord, principalFrom } from '../access/principals.js';
import { insertingActivity, type NewActivity, recordsOf } from '../activity/activity.js';
import { notingNetwork, valuesOfNetworkUse } from './known-networks.js';
import {
  type AttemptKeyPair,
  type AttemptKeys,
  type AttemptState,
  attemptColumns,
  attemptKeyPair,
  type FoundAttempts,
  forgettingAttempts,
  stateOf,
} from './login-attempts.js';

export interface LoginCandidate {
  id: string;
  password: string | null;
  status: string;
  provider: string;
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

type FoundCandidate = FoundAttempts & (LoginCandidate | { [Column in keyof LoginCandidate]: null });

const candidate = fixedStatement<Record<'email' | 'network' | keyof AttemptKeys, string>, FoundCandidate>(
  (value) => sql`
    select u.id, u.password, u.status, u.provider, u.tfa_secret as "tfaSecret", u.tfa_last_step as "tfaLastStep",
      ${attemptColumns(sql`u.id`, value)}
    from ${settings} left join ${users} u on ${inLowerCase(sql`u.email`)} = ${value('email')}`,
);

/**
 * The user with this email address in any letter case, with the data that a login is checked against, and the data that
 * determines how the attempt is counted. The work is the same whether or not there is such a user.
 */
export async function findLoginCandidate(
  executor: Executor,
  email: string,
  network: string,
  keys: AttemptKeys,
): Promise<{ user: LoginCandidate | undefined; attempts: AttemptState }> {
  const [found] = await candidate(executor, { email: email.toLowerCase(), network, ...keys });
  const { limit, known, here, anywhere, ...user } = found ?? {};
  const attempts = stateOf(found);
  return { user: found?.id ? (user as LoginCandidate) : undefined, attempts };
}

/** The state of a user at the time of the check. */
export interface CheckedUser {
  id: string;
  tfaSecret: string | null;
  /** The hash that was checked; undefined for a login without a password. */
  password?: string | null;
}

type Recording = Record<'user' | 'now', string> & Record<'tfaSecret' | 'password' | 'newPassword', string | null>;

const recording = (value: (name: keyof Recording) => Placeholder): SQL => sql`
    update ${users} set last_access = ${value('now')}, password = coalesce(${value('newPassword')}::text, password)
    where id = ${value('user')} and status = 'active' and tfa_secret is not distinct from ${value('tfaSecret')}::text
      and (${value('password')}::text is null or password = ${value('password')}::text)
    returning id`;

const recordingAlone = fixedStatement<Recording, { id: string }>(recording);

const valuesOf = (
  { id, tfaSecret, password = null }: CheckedUser,
  newPassword: string | null,
  now: Date,
): Recording => ({ user: id, tfaSecret, password, newPassword, now: now.toISOString() });

/**
 * Stores what a login changes, if the user is still as they were when they were checked: active, with the same second factor and,
 * if a password was checked, the same password. The row stays locked until the transaction ends, so that nothing can end the
 * user's sessions in between.
 * @param newPassword a new hash of the same password, to replace the stored one; null: there is none
 * @returns whether the login is still valid
 */
export async function recordLogin(
  tx: Executor,
  user: CheckedUser,
  newPassword: string | null,
  now: Date,
): Promise<boolean> {
  return (await recordingAlone(tx, valuesOf(user, newPassword, now))).length === 1;
}

/** A session to create, and everything that is stored with it. */
export interface NewSession {
  id: string;
  user: string;
  /** Hash of the refresh token; null in mode `session`. */
  tokenHash: string | null;
  expiresAt: Date;
  ip: string | null;
  userAgent: string | null;
  network: string;
  activity: readonly NewActivity[];
  /** Maximum number of sessions of the user. */
  limit: number;
}

type Beginning = Record<'id' | 'user' | 'expiresAt' | 'network' | 'now' | 'notedBefore' | 'activity', string> &
  Record<'tokenHash' | 'ip' | 'userAgent', string | null> &
  Record<'limit', number>;

/**
 * A single statement, so that it needs no surrounding transaction and only one round trip.
 * @param holder yields the `id` of the user and has locked their row; if it yields no row, nothing is done
 */
const beginning = (
  value: (name: keyof Beginning) => Placeholder,
  holder: SQL,
  moreParts = sql``,
  columns = sql``,
): SQL => sql`
  with held as (${holder}), begun as (
    insert into ${sessions} (id, "user", token_hash, created_at, authenticated_at, last_used_at, expires_at, ip, user_agent)
    select ${value('id')}::uuid, held.id, ${value('tokenHash')}::varchar, ${value('now')}::timestamptz, ${value('now')}::timestamptz,
      ${value('now')}::timestamptz, ${value('expiresAt')}::timestamptz, ${value('ip')}::varchar, ${value('userAgent')}::varchar from held
    returning id, "user"
  ), ${notingNetwork(sql`held`, value)}, recorded as (${insertingActivity(value('activity'), sql`where exists (select from held)`)})
  ${moreParts} ${principalFrom(
    sql`held join ${users} u on u.id = held.id`,
    sql`true`,
    sql`, (select end_unused_sessions("user", id, ${value('limit')}::integer, ${value('now')}::timestamptz) from begun) as ended ${columns}`,
  )}`;

const beginningOfRecorded = fixedStatement<Beginning, PrincipalRecord>((value) =>
  beginning(value, sql`select id from ${users} where id = ${value('user')} and status = 'active'`),
);

const recordingAndBeginning = fixedStatement<
  Beginning & Recording & AttemptKeyPair,
  PrincipalRecord & { is_late: boolean }
>((value) =>
  beginning(
    value,
    recording(value),
    sql`, forgotten as (${forgettingAttempts(value, sql`and exists (select from held)`)})`,
    sql`, clock_timestamp() - statement_timestamp() > interval '5 milliseconds' as is_late`,
  ),
);

const valuesOfBeginning = (
  { id, user, tokenHash, expiresAt, ip, userAgent, network, activity, limit }: NewSession,
  now: Date,
): Beginning => ({
  ...{ id, user, tokenHash, expiresAt: expiresAt.toISOString(), ip, userAgent, limit },
  ...valuesOfNetworkUse(network, now),
  activity: recordsOf(activity),
});

/** Creates a session for a user whose login was recorded in the same transaction. @returns undefined when the user is not active */
export async function beginSession(tx: Executor, session: NewSession, now: Date): Promise<PrincipalRecord | undefined> {
  return (await beginningOfRecorded(tx, valuesOfBeginning(session, now)))[0];
}

/**
 * Combines {@link recordLogin} and {@link beginSession} in one statement.
 * @param counted keys of login attempts to delete
 * @returns undefined when the login is no longer valid; then nothing was written
 */
export async function recordLoginAndBeginSession(
  executor: Executor,
  user: CheckedUser,
  { newPassword, counted }: { newPassword: string | null; counted: readonly string[] },
  session: NewSession,
  now: Date,
): Promise<PrincipalRecord | undefined> {
  const values = {
    ...valuesOf(user, newPassword, now),
    ...valuesOfBeginning(session, now),
    ...attemptKeyPair(counted),
  };
  const [begun] = await retryOnDeadlock(() => recordingAndBeginning(executor, values));
  if (!begun) return undefined;
  const { is_late: isLate, ...principal } = begun;
  // The statement returns the user as of its start. If it had to wait for their row, their rights may have changed since.
  return isLate ? findPrincipalBySession(executor, session.id) : principal;
}
