import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { keepFew } from '../../bounded-cache.js';
import { type Executor, rows } from '../../client.js';
import { type FixedStatement, fixedStatement } from '../../fixed-statement.js';
import { collections } from '../../query-language/collections.js';
import { permissions, policies, rolePolicies, roles, sessions, settings, userPolicies, users } from '../../schema.js';
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

/** A user with all that their rights follow from. Moments are milliseconds since 1970. */
export interface PrincipalRecord {
  id: string;
  status: string;
  role: string | null;
  has_tfa: boolean;
  last_access: number | null;
  /** The role and its ancestors. */
  roles: string[];
  /** Those of the roles, the user's own, and, for a user without a role, the public one. */
  policies: PolicyRecord[];
  /** The user's own row as it would be answered to who may see all of it; when it was asked for. */
  own?: Item;
}

export interface SessionPrincipalRecord extends PrincipalRecord {
  session: {
    id: string;
    generation: number;
    last_used_at: number;
    expires_at: number;
    authenticated_at: number;
    /** Milliseconds since the generation before was replaced; null: there was none. See {@link advanceSession}. */
    replaced_ago: number | null;
  };
}

const milliseconds = (moment: SQL) => sql`(extract(epoch from ${moment}) * 1000)::float8`;

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

/** The user `u`, the chain of roles (`union` ends it even if it runs in a circle) and the policies, in one statement. */
export const principalFrom = (source: SQL, condition: SQL, columns: SQL = sql``) => sql`
  select u.id, u.status, u.role, u.tfa_secret is not null as has_tfa, ${milliseconds(sql`u.last_access`)} as last_access,
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

/** In milliseconds, by the database's clock: so it does not matter which instance replaced it and which one reads this. */
const replacedAgo = sql`(extract(epoch from clock_timestamp() - s.replaced_at) * 1000)::float8`;

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
  );

const principalOfToken = (value: (name: 'hash') => Placeholder, own: SQL) =>
  principalFrom(sql`${users} u`, sql`u.token_hash = ${value('hash')}`, own);

/** The statement, and the same with fields of the user's own row. */
function withOwnRow<Values extends Record<string, unknown>, Row extends PrincipalRecord>(
  write: (value: (name: keyof Values & string) => Placeholder, own: SQL) => SQL,
) {
  const plain = fixedStatement<Values, Row>((value) => write(value, sql``));
  const kept = keepFew<FixedStatement<Values, Row>>(100);
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
 * The user of a session, whatever the state of either.
 * @param ownFields of the user's own row, which comes along as `own`
 */
export const findPrincipalBySession = (
  executor: Executor,
  session: string,
  ownFields?: readonly string[],
): Promise<SessionPrincipalRecord | undefined> => bySession(executor, { session }, ownFields);

/** The user who has the static token with this hash, whatever their status. */
export const findPrincipalByTokenHash = (
  executor: Executor,
  hash: string,
  ownFields?: readonly string[],
): Promise<PrincipalRecord | undefined> => byTokenHash(executor, { hash }, ownFields);

/** A place in a session: what is shown to leave it, or what is written on arriving. */
export interface SessionPlace {
  generation: number;
  /** Of the refresh token; null in mode `session`. */
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
 * One row, whose user is null when nothing was replaced.
 *
 * The row is locked first, so that `clock_timestamp()` is read after all waiting: in a plain update it would be read before
 * the wait for the lock. It is the database's clock, the only one that all instances share, and close to the commit, which
 * PostgreSQL keeps no time of. `shift` is how far a test has moved the clock of the service.
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
    returning s."user", s.expires_at, s.created_at
  ) ${principalFrom(
    sql`(values (true)) attempt left join moved on true left join ${users} u on u.id = moved."user"`,
    sql`true`,
    sql`, ${milliseconds(sql`moved.expires_at`)} as expires_at, ${milliseconds(sql`moved.created_at`)} as created_at,
      case when u.id is null then exists (select from ${sessions} s where ${isAt(value)}) else true end as was_current`,
  )}`,
);

/** The session `s`, if what was presented is still its current token. */
function isAt(value: (name: 'id' | 'generation' | 'tokenHash') => Placeholder): SQL {
  return sql`s.id = ${value('id')} and s.generation = ${value('generation')}
      and s.token_hash is not distinct from ${value('tokenHash')}::varchar`;
}

/** What came of an attempt to replace the token of a session. */
export type AdvanceOutcome =
  | { principal: PrincipalRecord; expiresAt: Date; createdAt: Date }
  | {
      principal: undefined;
      /** Whether what was presented was the current token when the statement began: if so, the replacement was committed later. */
      wasCurrent: boolean;
    };

/**
 * Moves a session from one generation to the next, if `presented` is still the current one, the session has not expired
 * and its user is active. One statement: of any number of attempts at the same time exactly one succeeds, and one that fails
 * changes nothing.
 * @param maxAge milliseconds after its beginning at which the session ends in any case; null: never
 * @param shift milliseconds by which `now` is ahead of the machine's clock
 */
export async function advanceSession(
  executor: Executor,
  presented: SessionPlace & { id: string },
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
  if (!outcome) throw new Error('An attempt to replace the token of a session must say what came of it.');
  const { was_current: wasCurrent, expires_at: expiresAt, created_at: createdAt, ...principal } = outcome;
  return principal.id === null
    ? { principal: undefined, wasCurrent }
    : { principal, expiresAt: new Date(expiresAt), createdAt: new Date(createdAt) };
}

/** A session as a refresh or a logout finds it, with its user. */
export interface RefreshableSession extends SessionPrincipalRecord {
  token_hash: string | null;
  created_at: number;
}

const refreshable = fixedStatement<{ session: string }, RefreshableSession>((value) =>
  principalOfSession(value, sql`, s.token_hash, ${milliseconds(sql`s.created_at`)} as created_at`),
);

/** A session with what the tokens of it are checked against, whatever the state of it or of its user. */
export async function findRefreshableSession(executor: Executor, id: string): Promise<RefreshableSession | undefined> {
  return (await refreshable(executor, { session: id }))[0];
}

/** Of these users, one for each combination of role and own policies: the others have the same rights. */
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

/** A new user with this role, who is not stored yet. @returns undefined when there is no such role */
export async function findPrincipalOfRole(executor: Executor, role: string): Promise<PrincipalRecord | undefined> {
  const source = sql`(
    select gen_random_uuid() as id, 'invited' as status, r.id as role, null::text as tfa_secret, null::timestamptz as last_access
    from ${roles} r where r.id = ${role}
  ) u`;
  const [found] = await rows<PrincipalRecord>(executor, principalFrom(source, sql`true`));
  return found;
}

const publicPolicies = fixedStatement<Record<never, never>, { list: PolicyRecord[] }>(
  () =>
    sql`select ${policyList} as list from ${policies} p where p.id in (select st.public_policy from ${settings} st)`,
);

/** The policies that count for those who say not who they are: the public one, if there is one. */
export async function findPublicPolicies(executor: Executor): Promise<PolicyRecord[]> {
  const [found] = await publicPolicies(executor, {});
  return found?.list ?? [];
}
