import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { type Executor, rows } from '../client.js';
import { type FixedStatement, fixedStatement } from '../fixed-statement.js';
import { keepFew } from '../kept.js';
import { collections } from '../query-language/collections.js';
import { permissions, policies, rolePolicies, roles, sessions, settings, userPolicies, users } from '../schema.js';
import { type Item, itemAsJson } from './items.js';

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
  session: { id: string; generation: number; last_used_at: number; expires_at: number; recent_rotations: number[] };
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

const principalOfSession = (value: (name: 'session') => Placeholder, own: SQL) =>
  principalFrom(
    sql`${sessions} s join ${users} u on u.id = s."user"`,
    sql`s.id = ${value('session')}`,
    sql`, json_build_object(
        'id', s.id, 'generation', s.generation,
        'last_used_at', ${milliseconds(sql`s.last_used_at`)}, 'expires_at', ${milliseconds(sql`s.expires_at`)},
        'recent_rotations', array(select ${milliseconds(sql`r.moment`)} from unnest(s.recent_rotations) with ordinality as r(moment, position) order by position)
      ) as session ${own}`,
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
  | 'ip'
  | 'userAgent'
  | 'now'
  | 'rotationsSince';

/** One row, whose user is null when nothing was moved. It says what counted when the statement began, however long it then waited. */
const advance = fixedStatement<
  Record<Advance, string | number | null>,
  (PrincipalRecord | { id: null }) & { was_current: boolean }
>(
  (value) => sql`
  with moved as (
    update ${sessions} s
    set token_hash = ${value('nextHash')}, generation = s.generation + 1, expires_at = ${value('expiresAt')},
      last_used_at = ${value('now')}, ip = ${value('ip')}, user_agent = ${value('userAgent')},
      recent_rotations = array(
        select moment from unnest(s.recent_rotations) with ordinality as rotation(moment, position)
        where moment >= ${value('rotationsSince')}::timestamptz order by position
      ) || ${value('now')}::timestamptz(3)
    from ${users} holder
    where ${isAt(value)} and s.expires_at > ${value('now')} and holder.id = s."user" and holder.status = 'active'
    returning s."user"
  ) ${principalFrom(
    sql`(values (true)) attempt left join moved on true left join ${users} u on u.id = moved."user"`,
    sql`true`,
    sql`, case when u.id is null then exists (select from ${sessions} s where ${isAt(value)}) else true end as was_current`,
  )}`,
);

/** The session `s`, as long as it has come no further than was shown. */
function isAt(value: (name: 'id' | 'generation' | 'tokenHash') => Placeholder): SQL {
  return sql`s.id = ${value('id')} and s.generation = ${value('generation')}
      and s.token_hash is not distinct from ${value('tokenHash')}::varchar`;
}

/** What came of an attempt to move a session on. */
export interface AdvanceOutcome {
  /** The user, when it was moved. */
  principal: PrincipalRecord | undefined;
  /** Whether what was shown counted when the attempt began. If nothing was moved all the same, another was faster, be it by long. */
  wasCurrent: boolean;
}

/**
 * Moves a session from one generation to the next, if `shown` is still the one that counts, the session has not expired
 * and its user is active. One statement: of any number of attempts at once exactly one succeeds, and one that fails has
 * used nothing up.
 * @param graceMs how long the time of a rotation is remembered
 */
export async function advanceSession(
  executor: Executor,
  shown: SessionPlace & { id: string },
  next: { tokenHash: string | null; expiresAt: Date; ip: string | null; userAgent: string | null },
  now: Date,
  graceMs: number,
): Promise<AdvanceOutcome> {
  const [outcome] = await advance(executor, {
    id: shown.id,
    generation: shown.generation,
    tokenHash: shown.tokenHash,
    nextHash: next.tokenHash,
    expiresAt: next.expiresAt.toISOString(),
    ip: next.ip,
    userAgent: next.userAgent,
    now: now.toISOString(),
    rotationsSince: new Date(now.getTime() - graceMs).toISOString(),
  });
  if (!outcome) throw new Error('An attempt to move a session on must say what came of it.');
  const { was_current: wasCurrent, ...found } = outcome;
  return { principal: found.id === null ? undefined : found, wasCurrent };
}

export async function findPrincipalsByUsers(
  executor: Executor,
  userIds: readonly string[],
): Promise<PrincipalRecord[]> {
  const list = sql.join(
    userIds.map((id) => sql`${id}`),
    sql`, `,
  );
  return rows<PrincipalRecord>(executor, principalFrom(sql`${users} u`, sql`u.id in (${list})`));
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
