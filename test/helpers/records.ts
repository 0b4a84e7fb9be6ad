import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import {
  permissions,
  policies,
  rolePolicies,
  roles,
  settings,
  userPolicies,
  users,
  userUses,
} from '../../db/schema.js';
import { hashToken } from '../../plugins/tokens/refresh-tokens.js';

/** Functions that write rows directly to the database. */

export interface TestUser {
  id: string;
  email: string;
  password: string;
}

const password = 'the password of a user';

/** Creates a user, who can log in unless `values` prevent it. */
export async function createUser(
  app: FastifyInstance,
  values: Partial<typeof users.$inferInsert> & { token?: string; policies?: string[]; lastAccess?: Date | null } = {},
): Promise<TestUser> {
  const { token, policies: own = [], id = randomUUID(), lastAccess, ...columns } = values;
  const email = columns.email ?? `user-${id}@example.com`;
  await app.db.insert(users).values({
    id,
    email,
    password: await app.passwords.hash(password),
    ...(token === undefined ? {} : { tokenHash: hashToken(token) }),
    ...columns,
  });
  if (lastAccess) await setLastAccess(app, lastAccess, id);
  for (const policy of own) await app.db.insert(userPolicies).values({ user: id, policy });
  return { id, email, password };
}

export async function changeUser(
  app: FastifyInstance,
  id: string,
  { lastAccess, ...values }: Partial<typeof users.$inferInsert> & { lastAccess?: Date | null },
): Promise<void> {
  if (lastAccess !== undefined) await setLastAccess(app, lastAccess, id);
  if (Object.keys(values).length > 0) await app.db.update(users).set(values).where(eq(users.id, id));
}

/** Sets the last access of a user, or of all users. */
export async function setLastAccess(app: FastifyInstance, lastAccess: Date | null, id?: string): Promise<void> {
  await app.db
    .update(userUses)
    .set({ lastAccess })
    .where(id === undefined ? undefined : eq(userUses.user, id));
}

/** The stored last access of a user. */
export async function lastAccessOf(app: FastifyInstance, id: string): Promise<Date | null> {
  const [found] = await app.db.select().from(userUses).where(eq(userUses.user, id));
  if (!found) throw new Error(`There is no user ${id}.`);
  return found.lastAccess;
}

/** Creates a policy. `read` lists the fields of users that its holders may read. */
export async function createPolicy(
  app: FastifyInstance,
  { read, ...values }: Partial<typeof policies.$inferInsert> & { read?: string[] } = {},
): Promise<string> {
  const id = randomUUID();
  await app.db.insert(policies).values({ id, name: `Policy ${id}`, ...values });
  if (read) await app.db.insert(permissions).values({ policy: id, collection: 'users', action: 'read', fields: read });
  return id;
}

export async function createRole(
  app: FastifyInstance,
  { id = randomUUID(), policies: own = [], parent }: { id?: string; policies?: string[]; parent?: string } = {},
): Promise<string> {
  await app.db.insert(roles).values({ id, name: `Role ${id}`, parent: parent ?? null });
  for (const policy of own) await app.db.insert(rolePolicies).values({ role: id, policy });
  return id;
}

export async function setPublicPolicy(app: FastifyInstance, policy: string | null): Promise<void> {
  await app.db.update(settings).set({ publicPolicy: policy });
}
