import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { permissions, policies, rolePolicies, roles, settings, userPolicies, users } from '../../../db/schema.js';
import { dumpDatabase } from '../database/dump.js';

type Permission = Omit<typeof permissions.$inferInsert, 'policy'>;

export const collections = ['users', 'roles', 'policies', 'permissions', 'settings'] as const;
export const actions = ['create', 'read', 'update', 'delete'] as const;

/** Permissions for all actions in all collections: the maximum that can be granted without admin access. */
export const everyPermission: Permission[] = collections.flatMap((collection) =>
  actions.map((action) => ({ collection, action, fields: ['*'] })),
);

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

/** Creates a policy with permissions. */
export async function policyWith(
  app: FastifyInstance,
  granted: readonly Permission[],
  values: Parameters<typeof createPolicy>[1] = {},
): Promise<string> {
  const policy = await createPolicy(app, values);
  for (const permission of granted) await app.db.insert(permissions).values({ policy, ...permission });
  return policy;
}

/**
 * Dumps the database without what every request may change: `last_access`, the audit records of rejected requests, and
 * the order of the rows, because an updated row may move within its table.
 */
const dumped = async (app: FastifyInstance) =>
  (await dumpDatabase(app, 'changes'))
    .replaceAll(/"(last_access|last_access_hour|never_used)": (null|"[^"]*")/g, '"$1": …')
    .split('\n')
    .sort()
    .join('\n');

/** Asserts that `work` leaves the database unchanged. */
export async function assertUnchanged(t: Test, app: FastifyInstance, what: string, work: () => Promise<void>) {
  const before = await dumped(app);
  await work();
  const after = await dumped(app);
  if (after !== before) t.fail(`${what}: the database has changed`, { found: differences(before, after) });
}

/** The lines that appear in only one of the dumps. */
function differences(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

/** The rights of a user, and the role and policies that grant them. */
interface Standing {
  isActive: boolean;
  isAdmin: boolean;
  role: string | null;
  policies: string[];
  /** The contents of each policy that applies. */
  policyContents: string[];
}

/** The rights of all users by id, computed row by row from the tables. `public` has those of anonymous callers. */
export async function rightsOfEverybody(app: FastifyInstance): Promise<Map<string, Standing>> {
  const { db } = app;
  const [everyone, everyRole, everyPolicy, every, ofRoles, ofUsers, [project]] = [
    await db.select().from(users),
    await db.select().from(roles),
    await db.select().from(policies),
    await db.select().from(permissions),
    await db.select().from(rolePolicies),
    await db.select().from(userPolicies),
    await db.select().from(settings),
  ];
  const chain = (id: string | null, seen: string[] = []): string[] =>
    id === null || seen.includes(id)
      ? seen
      : chain(everyRole.find((role) => role.id === id)?.parent ?? null, [...seen, id]);
  const says = (ids: readonly string[]) =>
    [...new Set(ids)].sort().map((id) => {
      const {
        name: _name,
        icon: _icon,
        description: _description,
        ...policy
      } = everyPolicy.find((one) => one.id === id) ?? {
        name: '',
        icon: '',
        description: '',
      };
      return JSON.stringify([
        policy,
        every.filter((permission) => permission.policy === id).sort((a, b) => a.id - b.id),
      ]);
    });
  const strangers = project?.publicPolicy ? [project.publicPolicy] : [];
  const standing = (held: string[], more: Pick<Standing, 'isActive' | 'role'>): Standing => ({
    ...more,
    policies: [...new Set(held)].sort(),
    isAdmin: held.some((id) => everyPolicy.find((policy) => policy.id === id)?.adminAccess),
    policyContents: says(held),
  });
  return new Map([
    ['public', standing(strangers, { isActive: true, role: project?.publicRegistrationRole ?? null })],
    ...everyone.map((user): [string, Standing] => {
      const ancestors = chain(user.role);
      const held = [
        ...ofRoles.filter(({ role }) => ancestors.includes(role)).map(({ policy }) => policy),
        ...ofUsers.filter((link) => link.user === user.id).map(({ policy }) => policy),
        ...(user.role === null ? strangers : []),
      ];
      return [user.id, standing(held, { isActive: user.status === 'active', role: user.role })];
    }),
  ]);
}
