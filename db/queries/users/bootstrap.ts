import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { policies, rolePolicies, roles, settings, users } from '../../schema.js';

/** Whether there are no users yet: in this state the service creates the first administrator. */
export async function hasNoUsers(executor: Executor): Promise<boolean> {
  const found = await executor.select({ id: users.id }).from(users).limit(1);
  return found.length === 0;
}

/** Inserts the single row of settings with its defaults, if it does not exist. */
export async function ensureSettings(executor: Executor): Promise<void> {
  // Even an insert without an effect would run the trigger that changes the version of all grants.
  const found = await executor.select({ id: settings.id }).from(settings);
  if (found.length === 0) await executor.insert(settings).values({ id: 1 }).onConflictDoNothing();
}

/** Creates the Administrator role, its policy, and the first user, and gives the user this role. */
export async function createAdministrator(
  executor: Executor,
  administrator: { email: string; password: string; tokenHash: string | null },
): Promise<void> {
  const name = 'Administrator';
  const [role] = await executor
    .insert(roles)
    .values({ name, icon: 'verified', description: 'Can do everything.' })
    .returning({ id: roles.id });
  const [policy] = await executor
    .insert(policies)
    .values({ name, icon: 'verified', description: 'Unrestricted access.', adminAccess: true, appAccess: true })
    .returning({ id: policies.id });
  if (!role || !policy) throw new Error('The database returned no row for the role and policy Administrator.');
  await executor.insert(rolePolicies).values({ role: role.id, policy: policy.id });
  const tokenSetAt = administrator.tokenHash === null ? null : sql`now()`;
  await executor.insert(users).values({ ...administrator, tokenSetAt, role: role.id });
}
