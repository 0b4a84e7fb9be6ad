import { and, desc, eq, gt, inArray, lt, ne, sql } from 'drizzle-orm';
import type { Executor } from '../client.js';
import { sessions, users } from '../schema.js';

export interface NewSession {
  id: string;
  user: string;
  tokenHash: string | null;
  expiresAt: Date;
  ip: string | null;
  userAgent: string | null;
}

export async function insertSession(executor: Executor, session: NewSession, now: Date): Promise<void> {
  await executor.insert(sessions).values({ ...session, createdAt: now, lastUsedAt: now });
}

/**
 * Moves a session from one generation to the next, if `generation` and `tokenHash` are still the ones that count,
 * it has not expired and its user is active. One statement: of any number of attempts at once exactly one succeeds.
 * @param graceMs how long the time of a rotation is remembered
 * @returns whether it was moved
 */
export async function advanceSession(
  executor: Executor,
  current: { id: string; generation: number; tokenHash: string | null },
  next: { tokenHash: string | null; expiresAt: Date; ip: string | null; userAgent: string | null },
  now: Date,
  graceMs: number,
): Promise<boolean> {
  const kept = new Date(now.getTime() - graceMs).toISOString();
  const moved = await executor
    .update(sessions)
    .set({
      ...next,
      generation: current.generation + 1,
      lastUsedAt: now,
      recentRotations: sql`array(
        select moment from unnest(${sessions.recentRotations}) with ordinality as rotation(moment, position)
        where moment >= ${kept}::timestamptz order by position
      ) || ${now.toISOString()}::timestamptz(3)`,
    })
    .from(users)
    .where(
      and(
        eq(sessions.id, current.id),
        eq(sessions.generation, current.generation),
        sql`${sessions.tokenHash} is not distinct from ${current.tokenHash}::varchar`,
        gt(sessions.expiresAt, now),
        eq(users.id, sessions.user),
        eq(users.status, 'active'),
      ),
    )
    .returning({ id: sessions.id });
  return moved.length === 1;
}

export interface SessionState {
  generation: number;
  tokenHash: string | null;
  recentRotations: Date[];
  expiresAt: Date;
}

/** The session as far as a refresh needs it, whatever its state. */
export async function findSession(executor: Executor, id: string): Promise<SessionState | undefined> {
  const [session] = await executor
    .select({
      generation: sessions.generation,
      tokenHash: sessions.tokenHash,
      recentRotations: sessions.recentRotations,
      expiresAt: sessions.expiresAt,
    })
    .from(sessions)
    .where(eq(sessions.id, id));
  return session;
}

/** Ends a session and with it every token of its family. @returns whose it was; undefined when there was none */
export async function deleteSession(executor: Executor, id: string): Promise<string | undefined> {
  const [ended] = await executor.delete(sessions).where(eq(sessions.id, id)).returning({ user: sessions.user });
  return ended?.user;
}

/** Clears away what has expired. Nothing depends on it: an expired session is refused whether its row is there or not. */
export async function deleteExpiredSessions(executor: Executor, now: Date): Promise<void> {
  await executor.delete(sessions).where(lt(sessions.expiresAt, now));
}

/** Ends the sessions of these users, but for the one that is to be kept. */
export async function deleteSessionsOf(
  executor: Executor,
  users: readonly string[],
  kept: string | null,
): Promise<void> {
  if (users.length === 0) return;
  const others = kept === null ? undefined : ne(sessions.id, kept);
  await executor.delete(sessions).where(and(inArray(sessions.user, [...users]), others));
}

/** A session as its user may see it: nothing that goes on with it. */
export interface OpenSessionRecord {
  id: string;
  createdAt: Date;
  /** When it was begun, refreshed, or used otherwise; that to the minute. */
  lastUsedAt: Date;
  expiresAt: Date;
  ip: string | null;
  userAgent: string | null;
}

/** The sessions of a user that have not expired, the latest used first. */
export async function listOpenSessions(
  executor: Executor,
  user: string,
  now: Date,
  limit: number,
): Promise<OpenSessionRecord[]> {
  const { id, createdAt, lastUsedAt, expiresAt, ip, userAgent } = sessions;
  return executor
    .select({ id, createdAt, lastUsedAt, expiresAt, ip, userAgent })
    .from(sessions)
    .where(and(eq(sessions.user, user), gt(expiresAt, now)))
    .orderBy(desc(lastUsedAt), desc(createdAt), id)
    .limit(limit);
}

/** Ends one session of a user. @returns whether there was one that had not expired */
export async function deleteSessionOf(executor: Executor, user: string, id: string, now: Date): Promise<boolean> {
  const ended = await executor
    .delete(sessions)
    .where(and(eq(sessions.id, id), eq(sessions.user, user), gt(sessions.expiresAt, now)))
    .returning({ id: sessions.id });
  return ended.length === 1;
}

/** Notes from where a session was used, unless a later time than `before` stands there already. */
export async function touchSession(
  executor: Executor,
  id: string,
  use: { ip: string | null; userAgent: string | null },
  now: Date,
  before: Date,
): Promise<void> {
  await executor
    .update(sessions)
    .set({ ...use, lastUsedAt: now })
    .where(and(eq(sessions.id, id), lt(sessions.lastUsedAt, before)));
}
