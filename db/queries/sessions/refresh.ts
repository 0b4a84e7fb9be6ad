import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { sessions, users } from '../../schema.js';
import { fixedStatement } from '../../statements.js';
import {
  milliseconds,
  type PrincipalRecord,
  principalFrom,
  principalOfSession,
  type SessionPrincipalRecord,
} from '../access/principals.js';

/** A position in a session: the one that a client presents to advance from, or the one that the session advances to. */
export interface SessionPosition {
  generation: number;
  /** Hash of the refresh token; null in `session` mode. */
  tokenHash: string | null;
}

type Advance =
  | 'id'
  | 'generation'
  | 'tokenHash'
  | 'nextHash'
  | 'expiresAt'
  | 'maxAge'
  | 'ip'
  | 'userAgent'
  | 'now'
  | 'shift';

/**
 * Returns one row, whose user is null when nothing was replaced.
 *
 * The row is locked first, so that `clock_timestamp()` is read after all waiting; a plain update would read it before the wait
 * for the lock. The database's clock is the only one that all instances share. The time is close to that of the commit, which
 * PostgreSQL does not record. `shift` is the number of milliseconds by which a test has moved the service's clock.
 */
const advance = fixedStatement<
  Record<Advance, string | number | null>,
  (PrincipalRecord | { id: null }) & { was_current: boolean; expires_at: number; created_at: number }
>(
  (value) => sql`
  with held as materialized (
    select s.id from ${sessions} s join ${users} holder on holder.id = s."user" and holder.status = 'active'
    where ${isAt(value)} and least(s.expires_at, s.created_at + ${value('maxAge')}::float8 * interval '1 millisecond') > ${value('now')}
    for no key update of s
  ), moved as (
    update ${sessions} s
    set token_hash = ${value('nextHash')}, generation = s.generation + 1,
      expires_at = least(${value('expiresAt')}::timestamptz, s.created_at + ${value('maxAge')}::float8 * interval '1 millisecond'),
      last_used_at = ${value('now')}, ip = ${value('ip')}, user_agent = ${value('userAgent')},
      replaced_at = clock_timestamp() + ${value('shift')}::float8 * interval '1 millisecond'
    from held where s.id = held.id
    returning s."user", s.expires_at, s.created_at, s.verified_by_passkey
  ) ${principalFrom(
    sql`(values (true)) attempt left join moved on true left join ${users} u on u.id = moved."user"`,
    sql`true`,
    sql`, ${milliseconds(sql`moved.expires_at`)} as expires_at, ${milliseconds(sql`moved.created_at`)} as created_at,
      case when u.id is null then exists (select from ${sessions} s where ${isAt(value)}) else true end as was_current`,
    sql`moved.verified_by_passkey`,
  )}`,
);

/** The session `s`, if the presented token is still its current one. */
function isAt(value: (name: 'id' | 'generation' | 'tokenHash') => Placeholder): SQL {
  return sql`s.id = ${value('id')} and s.generation = ${value('generation')}
      and s.token_hash is not distinct from ${value('tokenHash')}::varchar`;
}

/** The outcome of an attempt to replace the token of a session. */
export type AdvanceOutcome =
  | { principal: PrincipalRecord; expiresAt: Date; createdAt: Date }
  | {
      principal: undefined;
      /** Whether the presented token was current when the statement began. If so, another attempt has replaced it since. */
      wasCurrent: boolean;
    };

/**
 * Moves a session from one generation to the next, if `presented` is still the current one, the session has not expired and its
 * user is active. This is one statement: of any number of concurrent attempts exactly one succeeds, and a failed attempt changes
 * nothing.
 * @param maxAge maximum age of the session, in milliseconds; null: no limit
 * @param shift milliseconds by which `now` is ahead of the machine's clock
 */
export async function advanceSession(
  executor: Executor,
  presented: SessionPosition & { id: string },
  next: { tokenHash: string | null; expiresAt: Date; ip: string | null; userAgent: string | null },
  { now, shift, maxAge }: { now: Date; shift: number; maxAge: number | null },
): Promise<AdvanceOutcome> {
  const [outcome] = await advance(executor, {
    id: presented.id,
    generation: presented.generation,
    tokenHash: presented.tokenHash,
    nextHash: next.tokenHash,
    expiresAt: next.expiresAt.toISOString(),
    ip: next.ip,
    userAgent: next.userAgent,
    now: now.toISOString(),
    shift,
    maxAge,
  });
  if (!outcome) throw new Error('An attempt to replace the token of a session must return its outcome.');
  const { was_current: wasCurrent, expires_at: expiresAt, created_at: createdAt, ...principal } = outcome;
  return principal.id === null
    ? { principal: undefined, wasCurrent }
    : { principal, expiresAt: new Date(expiresAt), createdAt: new Date(createdAt) };
}

/** A session with its user, as needed by a refresh or a logout. */
export interface RefreshableSession extends SessionPrincipalRecord {
  token_hash: string | null;
  created_at: number;
}

const refreshable = fixedStatement<{ session: string }, RefreshableSession>((value) =>
  principalOfSession(value, sql`, s.token_hash, ${milliseconds(sql`s.created_at`)} as created_at`),
);

/** A session with the data that its tokens are checked against, whatever the status of the session and its user. */
export async function findRefreshableSession(executor: Executor, id: string): Promise<RefreshableSession | undefined> {
  return (await refreshable(executor, { session: id }))[0];
}
