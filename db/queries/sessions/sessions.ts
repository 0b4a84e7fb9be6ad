import { and, desc, eq, exists, gt, inArray, lt, lte, ne, not, or, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { ruledCollections } from '../../query-language/collections.js';
import { ruleConditions } from '../../query-language/compile.js';
import type { Filter } from '../../query-language/filter.js';
import { clients, oauthGrants, oauthRecords, sessionClients, sessions } from '../../schema.js';
import { rows } from '../../statements.js';

/** Deletes a session and with it every token of its family. @returns the id of its user; undefined when there was none */
export async function deleteSession(executor: Executor, id: string): Promise<string | undefined> {
  const [ended] = await executor.delete(sessions).where(eq(sessions.id, id)).returning({ user: sessions.user });
  return ended?.user;
}

/** Maximum number of sessions that one statement deletes. */
const maxDeleted = 5000;

/**
 * Deletes expired sessions, except those with tokens of applications that outlive them (`offline_access`), unless they have reached their
 * maximum age. Nothing depends on this: an expired session is rejected even while its row exists.
 * @param maxAge maximum age of a session in milliseconds; null: no limit
 */
export async function deleteExpiredSessions(executor: Executor, now: Date, maxAge: number | null): Promise<void> {
  // The condition on the day follows from the one on the time. It lets the database use the index.
  const hasEnded = maxAge === null ? sql`false` : lte(sessions.createdAt, new Date(now.getTime() - maxAge));
  const isUsedOffline = exists(
    executor
      .select({ one: sql`1` })
      .from(oauthRecords)
      .where(
        and(eq(oauthRecords.session, sessions.id), eq(oauthRecords.isOffline, true), gt(oauthRecords.expiresAt, now)),
      ),
  );
  const isExpired = and(
    lte(sessions.expiresOn, now.toISOString().slice(0, 10)),
    lt(sessions.expiresAt, now),
    or(hasEnded, not(isUsedOffline)),
  );
  const expired = executor.select({ id: sessions.id }).from(sessions).where(isExpired).limit(maxDeleted);
  for (;;) {
    // Applications are notified of the end of a session, but not if it has merely expired.
    const ended = await rows(
      executor,
      sql`with ended as (delete from ${sessions} where ${and(inArray(sessions.id, expired), isExpired)} returning id),
        forgotten as (delete from ${sessionClients} where session in (select id from ended))
        select id from ended`,
    );
    if (ended.length < maxDeleted) return;
  }
}

/** Deletes the sessions of these users, except `kept`. */
export async function deleteSessionsOf(
  executor: Executor,
  users: readonly string[],
  kept: string | null,
): Promise<void> {
  if (users.length === 0) return;
  const others = kept === null ? undefined : ne(sessions.id, kept);
  await executor.delete(sessions).where(and(inArray(sessions.user, [...users]), others));
}

/** A session as its user may see it, without anything that would let a caller continue it. */
export interface ActiveSessionRecord {
  id: string;
  createdAt: Date;
  /** When the session was last refreshed or used, or else created. Times of use are accurate to the minute. */
  lastUsedAt: Date;
  expiresAt: Date;
  ip: string | null;
  userAgent: string | null;
  /** The applications that have valid tokens from this session, by name. */
  applications: { id: string; name: string }[];
}

/** Rules for sessions. A session must match at least one. Null matches all sessions. */
type SessionRules = readonly (Filter | null)[];
const conditionsOf = (rules: SessionRules) => ruleConditions(ruledCollections.sessions, 'sessions', rules);
const everySession: SessionRules = [null];

const applicationsOf = (now: Date) => sql<ActiveSessionRecord['applications']>`(
  select coalesce(json_agg(json_build_object('id', held.client, 'name', held.name) order by held.name, held.client), '[]') from (
    select distinct r.client, coalesce(c.name, g.client_name, r.client) as name
    from ${oauthRecords} r left join ${clients} c on c.id = r.registered_client left join ${oauthGrants} g on g.id = r."grant"
    where r.session = ${sessions}.id and r.kind in ('AccessToken', 'RefreshToken') and r.consumed_at is null
      and r.expires_at > ${now.toISOString()}::timestamptz
  ) held)`;

/**
 * The sessions of a user that have not expired, most recently used first.
 * @param rules which sessions may be read
 * @param writable which sessions may be ended
 * @returns the sessions. `matching` says which of the rules to read each one matches
 */
export async function listActiveSessions(
  executor: Executor,
  user: string,
  now: Date,
  limit: number,
  rules: SessionRules = everySession,
  writable: SessionRules = everySession,
): Promise<(ActiveSessionRecord & { matching: boolean[]; isWritable: boolean })[]> {
  const { any, each } = conditionsOf(rules);
  const { id, createdAt, lastUsedAt, expiresAt, ip, userAgent } = sessions;
  return executor
    .select({
      ...{ id, createdAt, lastUsedAt, expiresAt, ip, userAgent },
      applications: applicationsOf(now),
      matching: sql<boolean[]>`${each}`,
      isWritable: sql<boolean>`${conditionsOf(writable).any}`,
    })
    .from(sessions)
    .where(and(eq(sessions.user, user), gt(expiresAt, now), any))
    .orderBy(desc(lastUsedAt), desc(createdAt), id)
    .limit(limit);
}

/** The user of a session that has not expired, and which of the rules it matches. @returns undefined if there is no such session */
export async function findActiveSession(
  executor: Executor,
  id: string,
  now: Date,
  rules: SessionRules,
): Promise<{ user: string; matching: boolean[] } | undefined> {
  const [found] = await executor
    .select({ user: sessions.user, matching: sql<boolean[]>`${conditionsOf(rules).each}` })
    .from(sessions)
    .where(and(eq(sessions.id, id), gt(sessions.expiresAt, now)));
  return found;
}

/** Deletes one session of a user. @returns whether there was one that had not expired */
export async function deleteSessionOf(
  executor: Executor,
  user: string,
  id: string,
  now: Date,
  rules: SessionRules = everySession,
): Promise<boolean> {
  const ended = await executor
    .delete(sessions)
    .where(and(eq(sessions.id, id), eq(sessions.user, user), gt(sessions.expiresAt, now), conditionsOf(rules).any))
    .returning({ id: sessions.id });
  return ended.length === 1;
}

/**
 * Deletes the sessions of a user, in a transaction.
 * @returns false if a session that has not expired matches none of the rules. The transaction must then be rolled back
 */
export async function deleteMatchingSessions(
  tx: Executor,
  user: string,
  now: Date,
  rules: SessionRules,
): Promise<boolean> {
  const { any } = conditionsOf(rules);
  const isOther = and(eq(sessions.user, user), gt(sessions.expiresAt, now), not(any));
  const others = await tx.select({ id: sessions.id }).from(sessions).where(isOther).limit(1);
  await tx.delete(sessions).where(and(eq(sessions.user, user), any));
  return others.length === 0;
}
