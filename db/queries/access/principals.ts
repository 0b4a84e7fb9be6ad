import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { collections } from '../../query-language/collections.js';
import {
  grantsVersion,
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
import { fixedStatement, rows } from '../../statements.js';
import { itemAsJson } from '../items/item-columns.js';
import type { Item } from '../items/items.js';

export interface PermissionRecord {
  id: number;
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

/** A user's own data that determines who they are. Times are milliseconds since 1970. */
interface UserRecord {
  id: string;
  status: string;
  role: string | null;
  /** Whether the user has two-factor authentication, or the session has proved a passkey that counts as two factors. */
  has_tfa: boolean;
  last_access: number | null;
  /** The user's own row, as returned to a caller who may read all of it. Present only if requested. */
  own?: Item;
}

/** What a role and a user's own policies grant. */
export interface GrantsRecord {
  /** The role and its ancestors. */
  roles: readonly string[];
  /** The policies of the roles, of the user, and, for a user without a role, the public policy. */
  policies: readonly PolicyRecord[];
}

/** A user with everything that determines their rights. */
export interface PrincipalRecord extends UserRecord, GrantsRecord {}

export interface SessionRecord {
  id: string;
  generation: number;
  last_used_at: number;
  expires_at: number;
  authenticated_at: number;
  /** Milliseconds since the previous generation was replaced; null if there was none. See `advanceSession`. */
  replaced_ago: number | null;
}

export interface SessionPrincipalRecord extends PrincipalRecord {
  session: SessionRecord;
}

/** What determines the grants of a user, and the version of all grants when it was read; see `grantsVersion`. */
export interface GrantKey {
  role: string | null;
  /** The IDs of the user's own policies, in order. */
  own_policies: readonly string[];
  version: string | null;
}

/** A user, and what determines their grants. */
export interface HolderRecord extends UserRecord, GrantKey {}

export const milliseconds = (moment: SQL) => sql`(extract(epoch from ${moment}) * 1000)::int8`;

const lastAccess = milliseconds(sql`(select used.last_access from ${userUses} used where used."user" = u.id)`);

/** The policies `p`, with their permissions, as JSON. */
const policyList = sql`coalesce(json_agg(json_build_object(
      'id', p.id, 'ip_access', p.ip_access, 'enforce_tfa', p.enforce_tfa,
      'admin_access', p.admin_access, 'app_access', p.app_access,
      'permissions', (
        select coalesce(json_agg(json_build_object(
          'id', pm.id, 'collection', pm.collection, 'action', pm.action, 'permissions', pm.permissions,
          'validation', pm.validation, 'presets', pm.presets, 'fields', pm.fields
        )), '[]') from ${permissions} pm where pm.policy = p.id
      )
    )), '[]')`;

const ownPolicies = sql`select up.policy from ${userPolicies} up where up."user" = u.id`;

/** The chain of roles and the policies of the user `u`. `union` ends the chain even if it is circular. */
const grantsOfUser = sql`
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
      union all ${ownPolicies}
      union all select st.public_policy from ${settings} st where u.role is null
    )
  ) attached`;

const grantsColumns = sql`, to_json(chain.ids) as roles, attached.list as policies`;

const userColumns = (isVerifiedByPasskey: SQL) => sql`
    u.id, u.status, u.role, u.tfa_secret is not null or ${isVerifiedByPasskey} as has_tfa, ${lastAccess} as last_access`;

/**
 * The user `u` with their grants.
 * @param isVerifiedByPasskey whether the session has proved a passkey that counts as two factors
 */
export const principalFrom = (
  source: SQL,
  condition: SQL,
  columns: SQL = sql``,
  isVerifiedByPasskey: SQL = sql`false`,
) => sql`
  select ${userColumns(isVerifiedByPasskey)} ${grantsColumns} ${columns}
  from ${source}
  ${grantsOfUser}
  where ${condition}`;

/** In milliseconds, by the database's clock, so that it does not matter which instance replaced the token and which one reads this. */
const replacedAgo = sql`(extract(epoch from clock_timestamp() - s.replaced_at) * 1000)::int8`;

const sessionColumn = sql`json_build_object(
        'id', s.id, 'generation', s.generation,
        'last_used_at', ${milliseconds(sql`s.last_used_at`)}, 'expires_at', ${milliseconds(sql`s.expires_at`)},
        'authenticated_at', ${milliseconds(sql`s.authenticated_at`)},
        'replaced_ago', ${replacedAgo}
      ) as session`;

export const principalOfSession = (value: (name: 'session') => Placeholder, columns: SQL) =>
  principalFrom(
    sql`${sessions} s join ${users} u on u.id = s."user"`,
    sql`s.id = ${value('session')}`,
    sql`, ${sessionColumn} ${columns}`,
    sql`s.verified_by_passkey`,
  );

const bySession = fixedStatement<{ session: string }, SessionPrincipalRecord>((value) =>
  principalOfSession(value, sql``),
);

/** The user of a session, whatever the status of the session and the user. */
export async function findPrincipalBySession(
  executor: Executor,
  session: string,
): Promise<SessionPrincipalRecord | undefined> {
  return (await bySession(executor, { session }))[0];
}

const currentVersion = sql`(select version from ${grantsVersion})`;

/**
 * The keys as rows. The sub-select hides their number from the planner. Otherwise, PostgreSQL would plan the statement again for every
 * batch. The join lets it read only the partitions that contain the keys.
 */
export const namedBy = (keys: Placeholder, type: 'uuid' | 'text') => {
  const array = sql.raw(`${type}[]`);
  return sql`unnest((select ${keys}::text::${array})) as named(key)`;
};

/** Further values of a statement. */
type Values = Record<string, string | number | null>;

/** Finds the holders of credentials. @returns the holders, by key */
type FindByKeys<Row, More extends Values> = (
  executor: Executor,
  keys: readonly string[],
  more: More,
) => Promise<ReadonlyMap<string, Row>>;

/** How to find the users of one kind of credential, without and with their grants. */
export interface HolderStatements<Holder extends HolderRecord, More extends Values> {
  findHolders: FindByKeys<Holder, More>;
  findPrincipals: FindByKeys<Holder & GrantsRecord, More>;
}

/** @param ownFields fields of the users' own rows to return as `own` */
export type CreateHolderStatements<Holder extends HolderRecord, More extends Values = Record<never, never>> = (
  ownFields?: readonly string[],
) => HolderStatements<Holder, More>;

/** Builds the statements for one kind of credential. `sourceOf` returns the rows of the keys in `keys`, each with its user `u`. */
export function statementsFor<Holder extends HolderRecord, More extends Values = Record<never, never>>({
  sourceOf,
  columns = sql``,
  isVerifiedByPasskey = sql`false`,
}: {
  sourceOf(value: (name: 'keys' | (keyof More & string)) => Placeholder): SQL;
  columns?: SQL;
  isVerifiedByPasskey?: SQL;
}): CreateHolderStatements<Holder, More> {
  const find = <Row extends Holder>(own: SQL, grants: { columns: SQL; from: SQL }): FindByKeys<Row, More> => {
    const statement = fixedStatement<More & { keys: string }, Row & { key: string }>(
      (value) => sql`
      select named.key, ${userColumns(isVerifiedByPasskey)}, ${currentVersion} as version,
        array_to_json(array(${ownPolicies} order by up.policy)) as own_policies ${columns} ${own} ${grants.columns}
      from ${sourceOf(value)} ${grants.from}`,
    );
    return async (executor, keys, more) => {
      const found = await statement(executor, { ...more, keys: `{${keys.join()}}` });
      return new Map(found.map((row) => [row.key, row]));
    };
  };
  return (ownFields) => {
    const own = ownFields ? sql`, ${itemAsJson(collections.users, ownFields, sql`u.id`)} as own` : sql``;
    return {
      findHolders: find(own, { columns: sql``, from: sql`` }),
      findPrincipals: find(own, { columns: grantsColumns, from: grantsOfUser }),
    };
  };
}

/** The users of these sessions, whatever the status of the session and the user. */
export const holdersBySession = statementsFor<HolderRecord & { session: SessionRecord }>({
  sourceOf: (value) =>
    sql`${namedBy(value('keys'), 'uuid')} join ${sessions} s on s.id = named.key join ${users} u on u.id = s."user"`,
  columns: sql`, ${sessionColumn}`,
  isVerifiedByPasskey: sql`s.verified_by_passkey`,
});

/** The users of static tokens, by the hashes of these, whatever their status. */
export const holdersByTokenHash = statementsFor<HolderRecord>({
  sourceOf: (value) => sql`${namedBy(value('keys'), 'text')} join ${users} u on u.token_hash = named.key`,
});

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

/** One of the ways in which a policy applies to someone. */
export interface PolicySource {
  policy: string;
  name: string;
  /** Whether it is the user's own policy, one of their role or its ancestors, or the public policy. */
  by: 'user' | 'role' | 'parent' | 'public';
  /** The role that has the policy. Null: it does not come from a role. */
  role: string | null;
  role_name: string | null;
}

/**
 * Where the policies of `grantsOfUser` come from. If a policy applies in several ways, each is listed.
 * @param holder without a role and without a user, an anonymous caller
 */
export async function findPolicySources(
  executor: Executor,
  { user, role, roles: chain }: { user: string | null; role: string | null; roles: readonly string[] },
): Promise<PolicySource[]> {
  return rows<PolicySource>(
    executor,
    sql`select p.id as policy, p.name, held.by, r.id as role, r.name as role_name
      from (
        select up.policy, 'user' as by, null::uuid as role from ${userPolicies} up where up."user" = ${user}::uuid
        union all
        select rp.policy, case when rp.role = ${role}::uuid then 'role' else 'parent' end, rp.role
        from ${rolePolicies} rp where ${isAmong(sql`rp.role`, chain)}
        union all
        select st.public_policy, 'public', null from ${settings} st where ${role}::uuid is null
      ) held
      join ${policies} p on p.id = held.policy
      left join ${roles} r on r.id = held.role
      order by p.name, p.id, held.by, r.name, r.id`,
  );
}

const publicGrants = fixedStatement<Record<never, never>, { version: string | null; list: PolicyRecord[] }>(
  () =>
    sql`select ${currentVersion} as version, ${policyList} as list from ${policies} p where p.id in (select st.public_policy from ${settings} st)`,
);

/** The policies that apply to anonymous callers, which are the public policy if there is one, and the version of all grants. */
export async function findPublicGrants(executor: Executor): Promise<{ version: string | null; list: PolicyRecord[] }> {
  return (await publicGrants(executor, {}))[0] ?? { version: null, list: [] };
}

/** The policies that apply to anonymous callers. */
export const findPublicPolicies = async (executor: Executor): Promise<PolicyRecord[]> =>
  (await findPublicGrants(executor)).list;

/** All roles and policies, and the version of all grants. */
export interface GrantsOverview {
  version: string | null;
  /** Each with the IDs of its own policies. */
  roles: { id: string; parent: string | null; policies: string[] }[];
  policies: PolicyRecord[];
  public_policy: string | null;
}

const overview = fixedStatement<Record<never, never>, GrantsOverview>(
  () => sql`select ${currentVersion} as version,
    (select coalesce(json_agg(json_build_object('id', r.id, 'parent', r.parent,
      'policies', array_to_json(array(select rp.policy from ${rolePolicies} rp where rp.role = r.id)))), '[]') from ${roles} r) as roles,
    (select ${policyList} from ${policies} p) as policies,
    (select st.public_policy from ${settings} st) as public_policy`,
);

/** What all roles and policies grant. */
export async function findGrantsOverview(executor: Executor): Promise<GrantsOverview> {
  return (await overview(executor, {}))[0] ?? { version: null, roles: [], policies: [], public_policy: null };
}

const versionAlone = fixedStatement<Record<never, never>, { version: string | null }>(
  () => sql`select ${currentVersion} as version`,
);

/** The current version of all grants. See `grantsVersion`. */
export async function findGrantsVersion(executor: Executor): Promise<string | null> {
  return (await versionAlone(executor, {}))[0]?.version ?? null;
}
