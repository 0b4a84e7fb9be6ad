import { type SQL, sql } from 'drizzle-orm';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { identities, passkeys, policies, rolePolicies, roles, settings, userPolicies, users } from '../../schema.js';
import { rows } from '../../statements.js';
import type { Key } from '../items/writes.js';

/** An arbitrary number that no other lock of the service uses. */
const administratorsLock = 0x6761_7466;

/** The roles that lead to admin access, through their own policies or those of their ancestors. Goes after `with recursive`. */
const powerfulRoles = (policyCondition: SQL) => sql`powerful(id) as (
    select rp.role from ${rolePolicies} rp join ${policies} p on p.id = rp.policy
    where p.admin_access and ${policyCondition}
    union
    select r.id from ${roles} r join powerful on r.parent = powerful.id
  )`;

/** The users who have a policy with admin access, from any source. */
const administrators = (condition: SQL, policyCondition: SQL = sql`true`) => sql`
  with recursive ${powerfulRoles(policyCondition)}
  select u.id from ${users} u
  where ${condition} and (
    u.role in (select id from powerful)
    or exists (select 1 from ${userPolicies} up join ${policies} p on p.id = up.policy where up."user" = u.id and p.admin_access and ${policyCondition})
  )`;

/**
 * Serializes changes that could remove the last administrator. Without this lock, two concurrent changes would each see the
 * other's administrator, and both would succeed.
 */
export async function lockAdministrators(executor: Executor): Promise<void> {
  await executor.execute(sql`select pg_advisory_xact_lock(${administratorsLock})`);
}

const canLogIn = (acceptsPasskeys: boolean) => sql`u.status = 'active'
  and (u.password is not null or u.token_hash is not null or u.provider <> 'default'
    or exists (select from ${identities} i where i."user" = u.id)
    or (${acceptsPasskeys}::boolean and exists (select from ${passkeys} k where k."user" = u.id)))`;

/**
 * Whether at least one active administrator can still log in. Such a user has a password, a static token, a passkey or a provider,
 * and admin access that is not limited to certain IP addresses.
 * @param acceptsPasskeys whether users can log in with passkeys
 */
export async function hasActiveAdministrator(executor: Executor, acceptsPasskeys: boolean): Promise<boolean> {
  const condition = canLogIn(acceptsPasskeys);
  const found = await rows(executor, sql`${administrators(condition, sql`p.ip_access is null`)} limit 1`);
  return found.length > 0;
}

/** Which of these users have admin access, active or not. */
export async function administratorsAmong(executor: Executor, keys: readonly Key[]): Promise<Set<Key>> {
  const list = sql`select key::uuid from jsonb_array_elements_text(${JSON.stringify(keys)}::jsonb) as named(key)`;
  const found = await rows<{ id: Key }>(executor, administrators(sql`u.id in (${list})`));
  return new Set(found.map(({ id }) => id));
}

/** Which of these roles, which need not exist, lead to admin access. */
export async function rolesWithAdminAccess(executor: Executor, names: readonly string[]): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const found = await rows<{ id: string }>(
    executor,
    sql`with recursive ${powerfulRoles(sql`true`)} select id from powerful where ${isAmong(sql`id`, names)}`,
  );
  return new Set(found.map(({ id }) => id));
}

/** Whether one of these roles is its own ancestor. */
export async function hasRoleCycle(executor: Executor, keys: readonly Key[]): Promise<boolean> {
  if (keys.length === 0) return false;
  const list = sql.join(
    keys.map((key) => sql`${key}`),
    sql`, `,
  );
  const found = await rows(
    executor,
    sql`with recursive ancestors(role, ancestor) as (
        select r.id, r.parent from ${roles} r where r.id in (${list})
        union
        select ancestors.role, r.parent from ${roles} r join ancestors on r.id = ancestors.ancestor
      ) select 1 from ancestors where role = ancestor limit 1`,
  );
  return found.length > 0;
}

/** Which settings grant too many rights: the public policy, or the role of users who register. */
export async function excessiveSettings(
  executor: Executor,
): Promise<{ publicPolicy: boolean; registrationRole: boolean }> {
  const [found] = await rows<{ public_policy: boolean; registration_role: boolean }>(
    executor,
    sql`with recursive chain(id, parent) as (
        select r.id, r.parent from ${roles} r join ${settings} st on st.public_registration_role = r.id
        union
        select r.id, r.parent from ${roles} r join chain on r.id = chain.parent
      )
      select
        exists (
          select 1 from ${settings} st join ${policies} p on p.id = st.public_policy where p.admin_access or p.app_access
        ) as public_policy,
        exists (
          select 1 from ${rolePolicies} rp join ${policies} p on p.id = rp.policy
          where p.admin_access and rp.role in (select id from chain)
        ) as registration_role`,
  );
  return { publicPolicy: found?.public_policy ?? false, registrationRole: found?.registration_role ?? false };
}

/**
 * The administrators, the addresses from which they have access, and their status. A new entry means that access was granted, or that
 * an administrator's account can be used or opened with a link that it could not be before.
 * @param assignable roles that a provider can give to users at any time, as if somebody had them
 */
// `offset 0` keeps the planner from joining all users: there are few administrators, and the indexes find them.
export async function listAdministration(executor: Executor, assignable: readonly string[]): Promise<Set<string>> {
  const found = await rows<{ access: string; status: string | null }>(
    executor,
    sql`with recursive powerful(role, addresses) as (
        select rp.role, coalesce(p.ip_access::text, '') from ${rolePolicies} rp join ${policies} p on p.id = rp.policy
        where p.admin_access
        union
        select r.id, powerful.addresses from ${roles} r join powerful on r.parent = powerful.role
      ), held("user", addresses) as (
        select member.id, powerful.addresses
        from powerful cross join lateral (select u.id from ${users} u where u.role = powerful.role offset 0) member
        union
        select member."user", coalesce(p.ip_access::text, '')
        from ${policies} p
        cross join lateral (select up."user" from ${userPolicies} up where up.policy = p.id offset 0) member
        where p.admin_access
      )
      select concat_ws(' ', held."user", held.addresses) as access,
        (select u.status from ${users} u where u.id = held."user") as status
      from held
      union all
      select concat_ws(' ', powerful.role, powerful.addresses), null from powerful where ${isAmong(sql`powerful.role`, assignable)}`,
  );
  return new Set(
    found.flatMap(({ access, status }) =>
      status === null || closedStatuses.has(status) ? [access] : [access, `${access} ${status}`],
    ),
  );
}

/** Statuses that only take access away from a user. */
const closedStatuses = new Set(['suspended', 'archived']);
