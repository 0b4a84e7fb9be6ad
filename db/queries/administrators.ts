import { type SQL, sql } from 'drizzle-orm';
import { type Executor, rows } from '../client.js';
import { policies, rolePolicies, roles, userPolicies, users } from '../schema.js';
import type { Key } from './writes.js';

/** Any number that no other lock here has. */
const administratorsLock = 0x6761_7466;

/** The users to whom a policy with admin access comes, from wherever. */
const administrators = (condition: SQL, policyCondition: SQL = sql`true`) => sql`
  with recursive powerful(id) as (
    select rp.role from ${rolePolicies} rp join ${policies} p on p.id = rp.policy
    where p.admin_access and ${policyCondition}
    union
    select r.id from ${roles} r join powerful on r.parent = powerful.id
  )
  select u.id from ${users} u
  where ${condition} and (
    u.role in (select id from powerful)
    or exists (select 1 from ${userPolicies} up join ${policies} p on p.id = up.policy where up."user" = u.id and p.admin_access and ${policyCondition})
  )`;

/**
 * Makes changes that could take the last administrator away happen one after another: without it two of them at once
 * would each see the other's administrator and both go through.
 */
export async function lockAdministrators(executor: Executor): Promise<void> {
  await executor.execute(sql`select pg_advisory_xact_lock(${administratorsLock})`);
}

const canLogIn = sql`u.status = 'active'
  and (u.password is not null or u.token_hash is not null or u.provider <> 'default')`;

/**
 * Whether an active user with admin access is left who can get in: with something to log in by, and from any address, for
 * one tied to addresses may be shut out.
 */
export async function hasActiveAdministrator(executor: Executor): Promise<boolean> {
  const found = await rows(executor, sql`${administrators(canLogIn, sql`p.ip_access is null`)} limit 1`);
  return found.length > 0;
}

/** Which of these users have admin access, active or not. */
export async function administratorsAmong(executor: Executor, keys: readonly Key[]): Promise<Set<Key>> {
  const list = sql.join(
    keys.map((key) => sql`${key}`),
    sql`, `,
  );
  const found = await rows<{ id: Key }>(executor, administrators(sql`u.id in (${list})`));
  return new Set(found.map(({ id }) => id));
}

/** Whether one of these roles is above itself. */
export async function anyIsOwnAncestor(executor: Executor, keys: readonly Key[]): Promise<boolean> {
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

/** Whether a policy gives admin access. */
export async function grantsAdministration(executor: Executor, policy: Key): Promise<boolean> {
  const found = await rows(executor, sql`select 1 from ${policies} p where p.id = ${policy} and p.admin_access`);
  return found.length > 0;
}
