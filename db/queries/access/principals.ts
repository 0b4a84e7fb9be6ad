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
    /** Milliseconds since the previous generation was replaced; null if there was none. See `advanceSession`. */
    replaced_ago: number | null;
  };
}

export const milliseconds = (moment: SQL) => sql`(extract(epoch from ${moment}) * 1000)::int8`;

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

export const principalOfSession = (value: (name: 'session') => Placeholder, columns: SQL) =>
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
