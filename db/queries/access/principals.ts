import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { createBoundedCache } from '../../bounded-cache.js';
import type { Executor } from '../../client.js';
import { collections } from '../../query-language/collections.js';
import {
  permissions,
  policies,
  rolePolicies,
  roles,
  sessions,
  settings,
  userPolicies,
  users,
  userUses,
} from '../../schema.js';
import { type FixedStatement, fixedStatement, rows } from '../../statements.js';
import { itemAsJson } from '../items/item-columns.js';
import type { Item } from '../items/items.js';

export interface PermissionRecord {
  collection: string;
  action: 'create' | 'read' | 'update' | 'delete';
  permissions: Record<string, unknown> | null;
  validation: Record<string, unknown> | null;
  presets: Record<string, unknown> | null;
  fields: string[] | null;
}

export interface PolicyRecord {
  id: string;
  ip_access: string[] | null;
  enforce_tfa: boolean;
  admin_access: boolean;
  app_access: boolean;
  permissions: PermissionRecord[];
}

/** A user with everything that determines their rights. Times are milliseconds since 1970. */
export interface PrincipalRecord {
  id: string;
  status: string;
  role: string | null;
  /** Whether the user has two-factor authentication, or the session has proved a passkey that counts as two factors. */
  has_tfa: boolean;
  last_access: number | null;
  /** The role and its ancestors. */
  roles: string[];
  /** The policies of the roles, of the user, and, for a user without a role, the public policy. */
  policies: PolicyRecord[];
  /** The user's own row, as returned to a caller who may read all of it. Present only if requested. */
  own?: Item;
}

export interface SessionPrincipalRecord extends PrincipalRecord {
  session: {
    id: string;
    generation: number;
    last_used_at: number;
    expires_at: number;
    authenticated_at: number;
    /** Milliseconds since the previous generation was replaced; null if there was none. See {@link advanceSession}. */
    replaced_ago: number | null;
  };
}

const milliseconds = (moment: SQL) => sql`(extract(epoch from ${moment}) * 1000)::int8`;

const lastAccess = milliseconds(sql`(select used.last_access from ${userUses} used where used."user" = u.id)`);

/** The policies `p`, with their permissions, as JSON. */
const policyList = sql`coalesce(json_agg(json_build_object(
      'id', p.id, 'ip_access', p.ip_access, 'enforce_tfa', p.enforce_tfa,
      'admin_access', p.admin_access, 'app_access', p.app_access,
      'permissions', (
        select coalesce(json_agg(json_build_object(
          'collection', pm.collection, 'action', pm.action, 'permissions', pm.permissions,
          'validation', pm.validation, 'presets', pm.presets, 'fields', pm.fields
        )), '[]') from ${permissions} pm where pm.policy = p.id
      )
    )), '[]')`;

/**
 * The user `u`, the chain of roles and the policies, in one statement. `union` ends the chain even if it is circular.
 * @param isVerifiedByPasskey whether the session has proved a passkey that counts as two factors
 */
export const principalFrom = (
  source: SQL,
  condition: SQL,
  columns: SQL = sql``,
  isVerifiedByPasskey: SQL = sql`false`,
) => sql`
  select u.id, u.status, u.role, u.tfa_secret is not null or ${isVerifiedByPasskey} as has_tfa, ${lastAccess} as last_access,
    to_json(chain.ids) as roles, attached.list as policies ${columns}
  from ${source}
  cross join lateral (
    with recursive ancestors(id, parent) as (
      select r.id, r.parent from ${roles} r where r.id = u.role
      union
      select r.id, r.parent from ${roles} r join ancestors on r.id = ancestors.parent
    )
    select coalesce(array_agg(ancestors.id), '{}') as ids from ancestors
  ) chain
  cross join lateral (
    select ${policyList} as list
    from ${policies} p
    where p.id in (
      select rp.policy from ${rolePolicies} rp where rp.role = any(chain.ids)
      union all select up.policy from ${userPolicies} up where up."user" = u.id
      union all select st.public_policy from ${settings} st where u.role is null
    )
  ) attached
  where ${condition}`;

/** In milliseconds, by the database's clock, so that it does not matter which instance replaced the token and which one reads this. */
const replacedAgo = sql`(extract(epoch from clock_timestamp() - s.replaced_at) * 1000)::int8`;

const principalOfSession = (value: (name: 'session') => Placeholder, columns: SQL) =>
  principalFrom(
    sql`${sessions} s join ${users} u on u.id = s."user"`,
    sql`s.id = ${value('session')}`,
    sql`, json_build_object(
        'id', s.id, 'generation', s.generation,
        'last_used_at', ${milliseconds(sql`s.last_used_at`)}, 'expires_at', ${milliseconds(sql`s.expires_at`)},
        'authenticated_at', ${milliseconds(sql`s.authenticated_at`)},
        'replaced_ago', ${replacedAgo}
      ) as session ${columns}`,
    sql`s.verified_by_passkey`,
  );

const principalOfToken = (value: (name: 'hash') => Placeholder, own: SQL) =>
  principalFrom(sql`${users} u`, sql`u.token_hash = ${value('hash')}`, own);

/** Two versions of a statement: as it is, and with fields of the user's own row. */
function withOwnRow<Values extends Record<string, unknown>, Row extends PrincipalRecord>(
  write: (value: (name: keyof Values & string) => Placeholder, own: SQL) => SQL,
) {
  const plain = fixedStatement<Values, Row>((value) => write(value, sql``));
  const kept = createBoundedCache<FixedStatement<Values, Row>>(100);
  return async (executor: Executor, values: Values, fields?: readonly string[]): Promise<Row | undefined> => {
    if (!fields) return (await plain(executor, values))[0];
    const statement = kept(fields.join(), () =>
      fixedStatement((value) => write(value, sql`, ${itemAsJson(collections.users, fields, sql`u.id`)} as own`)),
    );
    return (await statement(executor, values))[0];
  };
}

const bySession = withOwnRow<{ session: string }, SessionPrincipalRecord>(principalOfSession);
const byTokenHash = withOwnRow<{ hash: string }, PrincipalRecord>(principalOfToken);

/**
 * The user of a session, whatever the status of the session and the user.
 * @param ownFields fields of the user's own row to return as `own`
 */
export const findPrincipalBySession = (
  executor: Executor,
  session: string,
  ownFields?: readonly string[],
): Promise<SessionPrincipalRecord | undefined> => bySession(executor, { session }, ownFields);

/** Finds a user by the hash of their static token, without checking their status. */
export const findPrincipalByTokenHash = (
  executor: Executor,
  hash: string,
  ownFields?: readonly string[],
): Promise<PrincipalRecord | undefined> => byTokenHash(executor, { hash }, ownFields);

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

/** Returns one of these users for each combination of role and own policies; the others have the same rights. */
export async function findPrincipalsAmong(executor: Executor, userIds: readonly string[]): Promise<PrincipalRecord[]> {
  const source = sql`(
    select distinct on (u.role, held.policies) u.*
    from jsonb_array_elements_text(${JSON.stringify(userIds)}::jsonb) as named(id)
    join ${users} u on u.id = named.id::uuid
    cross join lateral (
      select array(select up.policy from ${userPolicies} up where up."user" = u.id order by up.policy) as policies
    ) held
    order by u.role, held.policies, u.id
  ) u`;
  return rows<PrincipalRecord>(executor, principalFrom(source, sql`true`));
}

/** A hypothetical new user with this role, who is not stored. @returns undefined when the role does not exist */
export async function findPrincipalOfRole(executor: Executor, role: string): Promise<PrincipalRecord | undefined> {
  const source = sql`(
    select gen_random_uuid() as id, 'invited' as status, r.id as role, null::text as tfa_secret
    from ${roles} r where r.id = ${role}
  ) u`;
  const [found] = await rows<PrincipalRecord>(executor, principalFrom(source, sql`true`));
  return found;
}

const publicPolicies = fixedStatement<Record<never, never>, { list: PolicyRecord[] }>(
  () =>
    sql`select ${policyList} as list from ${policies} p where p.id in (select st.public_policy from ${settings} st)`,
);

/** The policies that apply to anonymous callers: the public policy, if there is one. */
export async function findPublicPolicies(executor: Executor): Promise<PolicyRecord[]> {
  const [found] = await publicPolicies(executor, {});
  return found?.list ?? [];
}
