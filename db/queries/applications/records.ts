import { type SQL, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { brokenConstraint } from '../../failures.js';
import { clients, oauthGrants, oauthRecords, sessionClients, sessions, users } from '../../schema.js';
import { fixedStatement, rows } from '../../statements.js';
import { milliseconds } from '../access/principals.js';
import type { GrantRecord } from './grants.js';
import { type UnregisteredClients, unregisteredClients } from './provider-clients.js';

// What the OpenID Connect provider stores: codes, tokens, and requests that are in progress.

/** A record to store. Times are in milliseconds since 1970. */
export interface NewRecord {
  hash: string;
  kind: string;
  payload: Record<string, unknown>;
  client: string | null;
  registered_client: string | null;
  user: string | null;
  session: string | null;
  grant: string | null;
  resource: string | null;
  parent: string | null;
  family: string;
  offline: boolean;
  user_code_hash: string | null;
  created_at: string;
  expires_at: string;
}

/** A record that is still valid. */
export interface StoredRecord extends Omit<NewRecord, 'created_at' | 'expires_at' | 'user_code_hash' | 'resource'> {
  /** Milliseconds since 1970. */
  created_at: number;
  expires_at: number;
  /** Milliseconds since it was used, by the database's clock; null: it was not used yet. */
  consumed_ago: number | null;
  /** The refresh token that replaced it. Null if it has not been replaced. */
  successor: { hash: string; consumed_ago: number | null } | null;
  grant_record: GrantRecord | null;
  /** Present if nobody registered the client, or for a token that was exchanged. */
  unregistered: UnregisteredClients | null;
  /** The clients that nobody registered among those of the tokens from which this one was exchanged. */
  former_clients: string[];
}

interface Limits {
  now: Date;
  /** Maximum age of a session in milliseconds; null: no limit. */
  maxAge: number | null;
  /** Milliseconds by which `now` is ahead of the machine's clock. */
  shift: number;
}

const consumedAgo = (row: SQL, shift: SQL) =>
  sql`(extract(epoch from clock_timestamp() - ${row}.consumed_at) * 1000 + ${shift}::float8)::int8`;

/**
 * Whether a record `r` is valid: neither expired nor used by a user or session that has ended. Whatever ends a grant, a client or a
 * resource deletes it. A session that has merely expired does not end what was issued for `offline_access`.
 */
export const isValid = (now: SQL, maxAge: SQL) => sql`r.expires_at > ${now}::timestamptz
    and (r."user" is null or u.status = 'active')
    and (r.session is null or (
      (r.offline or s.expires_at > ${now}::timestamptz)
      and coalesce(s.created_at + ${maxAge}::float8 * interval '1 millisecond' > ${now}::timestamptz, true)
    ))`;

/** The unregistered clients of the tokens from which `r` was exchanged, as JSON. */
export const formerClients = sql`array_to_json(array(
    with recursive former(client, parent) as (
      select p.client, p.parent from ${oauthRecords} p where p.hash = r.parent
      union all select p.client, p.parent from former join ${oauthRecords} p on p.hash = former.parent
    ) select former.client from former where former.client like 'https://%'
  ))`;

/** The setting about unregistered clients, if `r` may depend on it. */
export const unregisteredOf = sql`case when r.client like 'https://%' or r.parent is not null then ${unregisteredClients(sql`r.client`)} end`;

const recordColumns = (
  shift: SQL,
) => sql`r.hash, r.kind, r.payload, r.client, r.registered_client, r."user", r.session, r."grant", r.parent,
    r.family, r.offline, ${milliseconds(sql`r.created_at`)} as created_at, ${milliseconds(sql`r.expires_at`)} as expires_at,
    ${consumedAgo(sql`r`, shift)} as consumed_ago,
    (select json_build_object('id', g.id, 'user', g."user", 'client', g.client, 'scopes', g.scopes, 'resources', g.resources,
      'digest', g.digest) from ${oauthGrants} g where g.id = r."grant") as grant_record,
    ${unregisteredOf} as unregistered, ${formerClients} as former_clients`;

/** Records `r` with their users `u` and sessions `s`. */
const validRecords = sql`${oauthRecords} r left join ${users} u on u.id = r."user" left join ${sessions} s on s.id = r.session`;

const byHash = fixedStatement<
  Record<'hash' | 'successors' | 'now' | 'maxAge' | 'shift', string | number | null>,
  StoredRecord
>(
  (value) => sql`
  select ${recordColumns(sql`${value('shift')}`)},
    (select json_build_object('hash', n.hash, 'consumed_ago', ${consumedAgo(sql`n`, sql`${value('shift')}`)}) from ${oauthRecords} n
      where n.hash = any(${value('successors')}::text::varchar[])) as successor
  from ${validRecords}
  where r.hash = ${value('hash')} and ${isValid(sql`${value('now')}`, sql`${value('maxAge')}`)}`,
);

/**
 * The record with this hash, if it is valid.
 * @param successors the hashes of the refresh tokens that could replace it
 */
export async function findRecord(
  executor: Executor,
  hash: string,
  successors: readonly string[],
  { now, maxAge, shift }: Limits,
): Promise<StoredRecord | undefined> {
  const values = { hash, successors: `{${successors.join()}}`, now: now.toISOString(), maxAge, shift };
  return (await byHash(executor, values))[0];
}

/** The request of a device with this code, if the user can still decide about it. @param hashes the forms in which it may be stored */
export async function findRecordByUserCode(
  executor: Executor,
  hashes: readonly string[],
  { now, maxAge, shift }: Limits,
): Promise<StoredRecord | undefined> {
  const [found] = await rows<StoredRecord>(
    executor,
    sql`select ${recordColumns(sql`${shift}`)} from ${validRecords}
      where ${isAmong(sql`r.user_code_hash`, hashes, 'text')} and r.consumed_at is null and ${isValid(sql`${now.toISOString()}`, sql`${maxAge}`)}`,
  );
  return found;
}

const insertRecords = (records: readonly NewRecord[], conflict: SQL) => sql`
  insert into ${oauthRecords} (hash, kind, payload, client, registered_client, "user", session, "grant", resource, parent, family, offline,
    user_code_hash, created_at, expires_at)
  select hash, kind, payload, client, registered_client, "user", session, "grant", resource, parent, family, offline,
    user_code_hash, created_at, expires_at
  from jsonb_populate_recordset(null::${oauthRecords}, ${JSON.stringify(records)}::jsonb) on conflict (hash) do ${conflict}
  returning hash, session, registered_client, "user"`;

/** Stores tokens, and that their clients must be notified when the session ends. */
const insertTokens = (records: readonly NewRecord[]) => sql`
  with stored as (${insertRecords(records, sql`nothing`)})
  insert into ${sessionClients} (sid, client, "user", session)
  select distinct stored.session, c.id, stored."user", stored.session from stored
  join ${clients} c on c.id = stored.registered_client and c.backchannel_logout_uri is not null
  where stored.session is not null
  on conflict do nothing`;

/**
 * Stores a record, or replaces its contents.
 * @returns whether it was stored; false if something that it depends on has ended
 */
export const saveRecord = (executor: Executor, record: NewRecord): Promise<boolean> =>
  storing(() =>
    rows(
      executor,
      insertRecords(
        [record],
        sql`update set payload = excluded.payload, "user" = excluded."user", session = excluded.session,
        "grant" = excluded."grant", expires_at = excluded.expires_at`,
      ),
    ),
  );

/** Stores a record that must not exist yet. @returns whether it did not exist */
export async function insertNewRecord(executor: Executor, record: NewRecord): Promise<boolean> {
  return (await rows(executor, insertRecords([record], sql`nothing`))).length === 1;
}

/** What a token request uses and issues. */
export interface TokenWork {
  /** Records that can be used only once. */
  consumed: readonly Pick<StoredRecord, 'hash' | 'family' | 'kind'>[];
  saved: readonly NewRecord[];
  /** The grants that were used. */
  grants: readonly string[];
}

/**
 * Stores all effects of a token request, in the caller's transaction. Parallel requests with one refresh token issue the same successor,
 * so all of them succeed.
 * @returns `used`: another request has used one of the records first. If it was a code, everything that was issued for it is deleted
 *   instead (RFC 9700, 2.1.1).
 *   `ended`: something that the tokens depend on has ended; the transaction must be rolled back
 */
export async function storeTokenWork(
  tx: Executor,
  { consumed, saved, grants }: TokenWork,
  { now, shift }: Limits,
): Promise<'stored' | 'used' | 'ended'> {
  if (consumed.length > 0) {
    const hashes = consumed.map(({ hash }) => hash);
    const marked = await rows(
      tx,
      sql`update ${oauthRecords} set consumed_at = clock_timestamp() + ${shift}::float8 * interval '1 millisecond'
        where ${isAmong(sql`hash`, hashes, 'text')} and consumed_at is null returning hash`,
    );
    if (marked.length < hashes.length && !(await isParallelRefresh(tx, { consumed, saved }))) {
      for (const { family, kind } of consumed) if (kind !== 'RefreshToken') await deleteFamily(tx, family);
      return 'used';
    }
  }
  if (saved.length > 0 && !(await storing(() => rows(tx, insertTokens(saved))))) return 'ended';
  if (grants.length > 0) {
    await rows(
      tx,
      sql`update ${oauthGrants} set last_used_at = ${now.toISOString()} where ${isAmong(sql`id`, grants, 'uuid')}
        and (last_used_at is null or last_used_at < ${now.toISOString()}::timestamptz - interval '1 minute')`,
    );
  }
  return 'stored';
}

/** Whether another request has just used the same refresh token, and nobody has used its successor yet. */
async function isParallelRefresh(
  tx: Executor,
  { consumed, saved }: Pick<TokenWork, 'consumed' | 'saved'>,
): Promise<boolean> {
  const successor = saved.find(({ kind }) => kind === 'RefreshToken');
  if (!successor || consumed.some(({ kind }) => kind !== 'RefreshToken')) return false;
  const unused = await rows(
    tx,
    sql`select 1 from ${oauthRecords} where hash = ${successor.hash} and consumed_at is null`,
  );
  return unused.length > 0;
}

/** @returns false if a foreign key refers to something that has ended */
async function storing(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (brokenConstraint(error)?.kind === 'foreign-key') return false;
    throw error;
  }
}

/** Adds to what the library stores in a record. */
export async function updatePayload(executor: Executor, hash: string, added: Record<string, unknown>): Promise<void> {
  await rows(
    executor,
    sql`update ${oauthRecords} set payload = payload || ${JSON.stringify(added)}::jsonb where hash = ${hash}`,
  );
}

/** Marks a record as used. @returns false if it was used before */
export async function consumeRecord(executor: Executor, hash: string): Promise<boolean> {
  const marked = await rows(
    executor,
    sql`update ${oauthRecords} set consumed_at = clock_timestamp() where hash = ${hash} and consumed_at is null returning hash`,
  );
  return marked.length === 1;
}

export async function deleteRecord(executor: Executor, hash: string): Promise<void> {
  await rows(executor, sql`delete from ${oauthRecords} where hash = ${hash}`);
}

/** Deletes everything that was issued for the same code. */
export async function deleteFamily(executor: Executor, family: string): Promise<void> {
  await rows(executor, sql`delete from ${oauthRecords} where family = ${family}::uuid`);
}

/** Records that a device asks for the user's decision. @returns milliseconds since it last asked; null: this is the first time */
export async function notePoll(executor: Executor, hash: string, now: Date): Promise<number | null> {
  const [noted] = await rows<{ since: number | null }>(
    executor,
    sql`update ${oauthRecords} r set polled_at = ${now.toISOString()}
      from (select hash, polled_at from ${oauthRecords} where hash = ${hash} for update) before
      where r.hash = before.hash
      returning (extract(epoch from r.polled_at - before.polled_at) * 1000)::int8 as since`,
  );
  return noted?.since ?? null;
}

/** The user's decision about the request of a device. */
export interface DeviceDecision {
  payload: Record<string, unknown>;
  user: string | null;
  session: string | null;
  grant: string | null;
  offline: boolean;
}

/** Stores the user's decision about the request of a device. @returns false if somebody has decided before */
export async function decideDeviceCode(executor: Executor, hash: string, decision: DeviceDecision): Promise<boolean> {
  const { payload, user, session, grant, offline } = decision;
  const decided = await rows(
    executor,
    sql`update ${oauthRecords} set payload = payload || ${JSON.stringify(payload)}::jsonb, "user" = ${user}::uuid,
        session = ${session}::uuid, "grant" = ${grant}::uuid, offline = ${offline}::boolean
      where hash = ${hash} and not payload ? 'accountId' and not payload ? 'error' returning hash`,
  );
  return decided.length === 1;
}

/** Maximum number of rows that one statement deletes. */
const maxDeleted = 5_000;

/** Deletes expired records. Nothing depends on this: an expired record is refused even while its row exists. */
export async function deleteExpiredRecords(executor: Executor, now: Date): Promise<void> {
  for (;;) {
    const deleted = await rows(
      executor,
      sql`delete from ${oauthRecords} where hash in (
        select hash from ${oauthRecords} where expires_at <= ${now.toISOString()}::timestamptz order by expires_at limit ${maxDeleted}::int
      ) returning hash`,
    );
    if (deleted.length < maxDeleted) return;
  }
}
