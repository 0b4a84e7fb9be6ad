import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { permissions, policies, rolePolicies, roles, settings } from '../../db/schema.js';

/** Functions that write rows directly to the database. */

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
