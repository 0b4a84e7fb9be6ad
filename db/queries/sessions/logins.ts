import { and, eq, lte, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { AuthenticationMethod } from '../../../schemas/sessions.js';
import type { Executor } from '../../client.js';
import { foldCase, inLowerCase } from '../../lower-case.js';
import { knownNetworks, sessions, settings, users, userUses } from '../../schema.js';
import { fixedStatement } from '../../statements.js';
import { findPrincipalBySession, type PrincipalRecord, principalFrom } from '../access/principals.js';
import { insertingActivity, type NewActivity, recordsOf } from '../activity/activity.js';
import {
  type AttemptKeyPair,
  type AttemptKeys,
  type AttemptState,
  attemptColumns,
  attemptKeyPair,
  attemptStateOf,
  type FoundAttempts,
  forgettingAttempts,
} from '../passwords/login-attempts.js';

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
  const [found] = await candidate(executor, { email: foldCase(email), network, ...keys });
  const { limit, known, here, anywhere, ...user } = found ?? {};
  const attempts = attemptStateOf(found);
  return { user: found?.id ? (user as LoginCandidate) : undefined, attempts };
}

/** An address exactly as it was given, ignoring only letter case. @returns the stored form */
export async function findStoredAddress(executor: Executor, given: string): Promise<string | undefined> {
  const [found] = await executor
    .select({ email: users.email })
    .from(users)
    .where(eq(inLowerCase(users.email), foldCase(given)));
  return found?.email ?? undefined;
}

/** Maximum number of networks stored for each user; the most recent ones are kept. */
const maxNetworks = 20;
/** Milliseconds that must pass before another login from the same network is recorded. */
const noteAfterMs = 3_600_000;

/** Maximum number of devices stored for each user; the most recent ones are kept. */
const maxDevices = 10;

/** The values that record a login from a network. */
type NetworkUse = 'network' | 'now' | 'notedBefore';

const valuesOfNetworkUse = (network: string, now: Date): Record<NetworkUse, string> => ({
  network,
  now: now.toISOString(),
  notedBefore: new Date(now.getTime() - noteAfterMs).toISOString(),
});

/**
 * Parts of a `with` clause that record a user's login from a network.
 * @param user yields the user's `id`, or no row; then nothing is recorded
 */
const notingNetwork = (user: SQL, value: (name: NetworkUse) => Placeholder): SQL => sql`
  noted as (
    insert into ${knownNetworks} ("user", network, last_login_at)
    select id, ${value('network')}::varchar, ${value('now')}::timestamptz from ${user} login
    on conflict ("user", network) do update set last_login_at = excluded.last_login_at
      where known_networks.last_login_at <= ${value('notedBefore')}::timestamptz
    returning "user", network, xmax = 0 as is_new
  ), outnumbered as (
    delete from ${knownNetworks} k using noted cross join lateral (
      select network from ${knownNetworks}
      where "user" = noted."user" and network <> noted.network order by last_login_at desc offset ${sql.raw(`${maxNetworks - 1}`)}
    ) oldest
    where k."user" = noted."user" and k.network = oldest.network
  )`;

/** The devices of a user after a login with one of them. */
const devicesAfter = (device: Placeholder): SQL => sql`case
  when ${device}::text is null then u.devices
  else (array_prepend(${device}::text, array_remove(u.devices, ${device}::text)))[:${sql.raw(`${maxDevices}`)}] end`;

const noting = fixedStatement<
  Record<NetworkUse | 'user', string> & Record<'device', string | null>,
  Record<never, never>
>(
  (value) => sql`with ${notingNetwork(sql`(select ${value('user')}::uuid as id)`, value)},
    used as (
      update ${userUses} u set devices = ${devicesAfter(value('device'))} where u."user" = ${value('user')}::uuid
    ) select`,
);

/** Records the network and the kind of device with which a user has proved their identity, so that the next login is not new. */
export async function rememberOrigin(
  tx: Executor,
  user: string,
  { network, device }: { network: string; device: string | null },
  now: Date,
): Promise<void> {
  await noting(tx, { user, device, ...valuesOfNetworkUse(network, now) });
}

/** The user with this email address, in any letter case, and whether they have logged in from a network before. */
export async function findLoginNetwork(
  executor: Executor,
  email: string,
  network: string,
): Promise<{ user: string; isKnown: boolean } | undefined> {
  const [found] = await executor
    .select({ user: users.id, isKnown: sql<boolean>`${knownNetworks.network} is not null` })
    .from(users)
    .leftJoin(knownNetworks, and(eq(knownNetworks.user, users.id), eq(knownNetworks.network, network)))
    .where(eq(inLowerCase(users.email), foldCase(email)));
  return found;
}

/** Deletes networks without a login since `before`. */
export async function deleteOldNetworks(executor: Executor, before: Date): Promise<void> {
  await executor.delete(knownNetworks).where(lte(knownNetworks.lastLoginAt, before));
}

/** The state of a user at the time of the check. */
export interface CheckedUser {
  id: string;
  tfaSecret: string | null;
  /** The hash that was checked; undefined for a login without a password. */
  password?: string | null;
}

/** A session to create, and everything that is stored with it. */
export interface NewSession {
  id: string;
  /** Hash of the refresh token; null in `session` mode. */
  tokenHash: string | null;
  expiresAt: Date;
  ip: string | null;
  userAgent: string | null;
  /** Name of the browser and its system, or of the program; null: unknown. */
  device: string | null;
  network: string;
  activity: readonly NewActivity[];
  /** Maximum number of sessions of the user. */
  limit: number;
  isVerifiedByPasskey: boolean;
  amr: readonly AuthenticationMethod[];
}

type Values = Record<'id' | 'user' | 'expiresAt' | 'network' | 'now' | 'notedBefore' | 'activity' | 'amr', string> &
  Record<'tokenHash' | 'ip' | 'userAgent' | 'device' | 'tfaSecret' | 'password' | 'newPassword', string | null> &
  Record<'limit', number> &
  Record<'isVerifiedByPasskey', boolean> &
  AttemptKeyPair;

const recording = fixedStatement<Values, PrincipalRecord & { is_late: boolean; is_unfamiliar: boolean }>(
  (value) => sql`
  with held as materialized (
    select id from ${users}
    where id = ${value('user')} and status = 'active' and tfa_secret is not distinct from ${value('tfaSecret')}::text
      and (${value('password')}::text is null or password = ${value('password')}::text)
    for no key update
  ), used as (
    update ${userUses} u set last_access = ${value('now')}, devices = ${devicesAfter(value('device'))}
    from held where u."user" = held.id
  ), rehashed as (
    update ${users} u set password = ${value('newPassword')}::text
    from held where u.id = held.id and ${value('newPassword')}::text is not null
  ), begun as (
    insert into ${sessions} (id, "user", token_hash, created_at, authenticated_at, last_used_at, expires_at, ip, user_agent,
      verified_by_passkey, amr)
    select ${value('id')}::uuid, held.id, ${value('tokenHash')}::varchar, ${value('now')}::timestamptz, ${value('now')}::timestamptz,
      ${value('now')}::timestamptz, ${value('expiresAt')}::timestamptz, ${value('ip')}::varchar, ${value('userAgent')}::varchar,
      ${value('isVerifiedByPasskey')}::boolean, ${value('amr')}::text[] from held
    returning id, "user"
  ), ${notingNetwork(sql`held`, value)},
  recorded as (${insertingActivity(value('activity'), sql`where exists (select from held)`)}),
  forgotten as (${forgettingAttempts(value, sql`and exists (select from held)`)})
  ${principalFrom(
    sql`held join ${users} u on u.id = held.id`,
    sql`true`,
    sql`, (select end_unused_sessions("user", id, ${value('limit')}::integer, ${value('now')}::timestamptz) from begun) as ended,
      clock_timestamp() - statement_timestamp() > interval '5 milliseconds' as is_late,
      (exists (select from noted where is_new) and exists (select from ${knownNetworks} k where k."user" = u.id))
        or exists (select from ${userUses} k where k."user" = u.id and ${value('device')}::text <> all (k.devices)) as is_unfamiliar`,
    sql`${value('isVerifiedByPasskey')}::boolean`,
  )}`,
);

/**
 * Stores what a login changes, and creates its session, if the user is still as they were when they were checked: active, with the
 * same second factor and, if a password was checked, the same password. In a transaction, the row stays locked until its end, so
 * that nothing can end the user's sessions in between. This is a single statement, so it needs no transaction of its own and only one
 * round trip.
 * @param changes.newPassword a new hash of the same password, to replace the stored one, or null
 * @param changes.counted keys of login attempts to delete
 * @returns `isUnfamiliar`: whether the user has logged in before, but not from this network or not with this device. Returns
 *   undefined, and writes nothing, if the login is no longer valid
 */
export async function recordLogin(
  executor: Executor,
  { id: user, tfaSecret, password = null }: CheckedUser,
  { newPassword, counted }: { newPassword: string | null; counted: readonly string[] },
  { id, tokenHash, expiresAt, ip, userAgent, device, network, activity, limit, isVerifiedByPasskey, amr }: NewSession,
  now: Date,
): Promise<{ principal: PrincipalRecord; isUnfamiliar: boolean } | undefined> {
  const [begun] = await recording(executor, {
    user,
    tfaSecret,
    password,
    newPassword,
    id,
    tokenHash,
    ip,
    userAgent,
    device,
    limit,
    isVerifiedByPasskey,
    amr: `{${amr.join()}}`,
    expiresAt: expiresAt.toISOString(),
    ...valuesOfNetworkUse(network, now),
    activity: recordsOf(activity),
    ...attemptKeyPair(counted),
  });
  if (!begun) return undefined;
  const { is_late: isLate, is_unfamiliar: isUnfamiliar, ...record } = begun;
  // The statement returns the user as of its start. If it had to wait for their row, their rights may have changed since.
  const principal = isLate ? await findPrincipalBySession(executor, id) : record;
  return principal && { principal, isUnfamiliar };
}
