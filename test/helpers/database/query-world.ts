import { asc, eq } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import { permissions, policies, rolePolicies, roles, userPolicies, users, userUses } from '../../../db/schema.js';
import { hashToken } from '../../../plugins/tokens/refresh-tokens.js';
import type { Item, World } from './query-oracle.js';

/** Texts that incorrectly escaped SQL would misinterpret. */
export const awkward = [
  '',
  ' ',
  '%',
  '_',
  '100%',
  'a_b',
  'a%b',
  'axb',
  '\\',
  'a\\b',
  '\\%',
  "o'Hara",
  '"quoted"',
  "'; drop table users; --",
  'ANNA',
  'anna',
  'Anna',
  'annA b',
  '💥 boom',
  'ß ünï',
  '(x)',
  '[1]',
  '{"a":1}',
  '.*',
  '$1',
  'a,b',
  'zz\nzz',
  'ab',
  'AB',
  'b',
];

/** Boundaries of days, months, years, the epoch, daylight saving time, and the date range. */
export const moments = [
  '1970-01-01T00:00:00.000Z',
  '1969-12-31T23:59:59.999Z',
  '2000-02-29T12:00:00.000Z',
  '2024-02-29T23:59:59.999Z',
  '2024-03-01T00:00:00.000Z',
  '2024-12-31T23:59:59.999Z',
  '2025-01-01T00:00:00.000Z',
  '2025-10-26T01:30:00.000Z',
  '1000-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
];

/** Returns a UUID for a number. It contains letters, so that the letter case matters. */
export const uuidOf = (kind: number, number: number) =>
  `${(0xab000000 + kind * 0x1000 + ((number * 37) % 0xfff)).toString(16)}-0000-4000-8000-${number.toString(16).padStart(12, 'a')}`;

/** Callers with static tokens: an administrator, and members with different read permissions. */
export const tokens = {
  admin: 'token-of-the-admin',
  fields: 'token-of-the-member-with-two-policies',
  app: 'token-of-the-member-with-app-access',
  lists: 'token-of-the-member-who-reads-through-lists',
  homeless: 'token-of-the-member-without-a-role',
} as const;
export type CallerName = keyof typeof tokens;
export const callerNames = Object.keys(tokens) as CallerName[];

const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
const orNull = <T>(value: T, index: number, every: number): T | null => (index % every === 0 ? null : value);

const role = (number: number) => uuidOf(1, number);
const policy = (number: number) => uuidOf(2, number);
const user = (number: number) => uuidOf(3, number);

const callerNumbers: Record<CallerName, number> = { admin: 100, fields: 101, app: 102, lists: 103, homeless: 104 };
export const callerId = (name: CallerName) => user(callerNumbers[name]);

/** Inserts sixty users, eight roles in a tree, policies, and permissions. */
export async function fillWorld(app: FastifyInstance): Promise<void> {
  const { db } = app;
  const parents = [null, 1, 1, 2, 2, 3, null, 7];
  for (const [index, parent] of parents.entries()) {
    await db.insert(roles).values({
      id: role(index + 1),
      name: pick(['Editors', 'editors', 'a%b', '', 'Zoo', 'Anna', 'b', 'b'], index),
      icon: orNull(pick(awkward, index * 3), index, 3),
      description: orNull(pick(awkward, index * 7), index, 2),
      parent: parent === null ? null : role(parent),
    });
  }
  for (let index = 1; index <= 7; index++) {
    await db.insert(policies).values({
      id: policy(index),
      name: pick(awkward.slice(14), index * 5),
      icon: orNull('icon', index, 2),
      description: orNull(pick(awkward, index * 11), index, 3),
      ipAccess: index === 7 ? ['10.0.0.0/8'] : null,
      adminAccess: index === 1,
      appAccess: index === 3,
    });
  }
  const read = (number: number, collection: string, fields: string[] | null, rule: Record<string, unknown> | null) => ({
    policy: policy(number),
    collection,
    action: 'read' as const,
    fields,
    permissions: rule,
  });
  await db.insert(permissions).values([
    read(2, 'users', ['id', 'email', 'first_name', 'status', 'role', 'tags', 'token'], { status: { _eq: 'active' } }),
    read(2, 'users', ['id', 'last_name', 'title', 'policies'], { role: { _eq: '$CURRENT_ROLE' } }),
    read(2, 'roles', ['*'], null),
    read(2, 'policies', ['id', 'name'], { name: { _neq: 'b' } }),
    read(2, 'users', null, null),
    read(3, 'users', ['*'], {
      _or: [{ last_access: { _lt: '2024-03-01' } }, { role: { name: { _icontains: 'ANNA' } } }],
    }),
    read(3, 'roles', ['id', 'name', 'parent', 'children'], { parent: { _null: true } }),
    read(3, 'policies', ['id', 'name', 'users', 'permissions'], {}),
    read(3, 'permissions', ['*'], { policy: { admin_access: { _eq: false } } }),
    read(4, 'users', ['id', 'email', 'policies', 'last_access', 'first_name'], {
      _or: [{ id: { _eq: '$CURRENT_USER' } }, { policies: { _some: { app_access: { _eq: true } } } }],
    }),
    read(4, 'users', ['role', 'email', 'location'], { role: { users: { _none: { status: { _eq: 'suspended' } } } } }),
    read(4, 'policies', ['*'], { users: { _some: { id: { _nnull: true } } } }),
    read(4, 'roles', ['name', 'users', 'children', 'parent', 'policies'], { id: { _nin: [role(5), role(6)] } }),
    read(5, 'users', ['first_name', 'last_name', 'last_access', 'tfa_secret'], {
      last_access: { _lte: '$NOW(-1 day)' },
    }),
    read(5, 'users', ['*'], { id: { _eq: '$CURRENT_USER' } }),
    read(6, 'roles', ['id', 'name', 'users'], { name: { _nempty: true } }),
    { ...read(6, 'users', ['*'], null), action: 'update' as const },
  ]);
  await db.insert(rolePolicies).values(
    [
      [1, 2],
      [1, 6],
      [2, 4],
      [4, 6],
      [7, 3],
      [8, 5],
    ].map(([r = 0, p = 0]) => ({ role: role(r), policy: policy(p) })),
  );

  const statuses = ['active', 'draft', 'suspended', 'active', 'invited', 'archived', 'unverified', 'active'];
  const common = (index: number) => ({
    firstName: orNull(pick(awkward, index), index, 9),
    lastName: orNull(pick(awkward, index * 7 + 3), index, 4),
    location: orNull(pick(awkward, index * 11), index, 3),
    title: orNull(pick(['Dr', 'dr', 'Prof', ''], index), index, 5),
    description: orNull(pick(awkward, index * 13 + 1), index, 6),
    tags: orNull(['x', '"', '%'], index, 2),
    avatar: orNull(uuidOf(4, index % 5), index, 4),
    language: orNull(pick(['en-US', 'de-DE', 'EN-us'], index), index, 7),
    createdAt: new Date(pick(moments, index * 3)),
    emailVerifiedAt: orNull(new Date(pick(moments, index * 7)), index, 3),
    externalIdentifier: orNull(`ext-${index}`, index, 3),
    authData: orNull({ index }, index, 4),
    emailNotifications: index % 3 !== 0,
    appearance: orNull(pick(['auto', 'dark', 'light'], index), index, 4),
  });
  for (let index = 1; index <= 60; index++) {
    await db.insert(users).values({
      ...common(index),
      id: user(index),
      email: orNull(
        `${pick(['Anna', 'bob', 'B_b', 'c%'], index)}${index}@${pick(['Example.com', 'test.org'], index)}`,
        index,
        15,
      ),
      tfaSecret: index % 6 === 0 ? `sealed ${index}` : null,
      tokenHash: index % 7 === 0 ? `hash ${index}` : null,
      status: pick(statuses, index),
      role: index % 9 === 0 ? null : role((index % 8) + 1),
      provider: pick(['default', 'default', 'github'], index),
    });
    const lastAccess = orNull(new Date(pick(moments, index)), index, 5);
    await db
      .update(userUses)
      .set({ lastAccess })
      .where(eq(userUses.user, user(index)));
  }
  const homes: Record<CallerName, number | null> = { admin: null, fields: 1, app: 8, lists: 4, homeless: null };
  for (const [index, name] of callerNames.entries()) {
    await db.insert(users).values({
      ...common(index + 100),
      id: callerId(name),
      email: `${name}@callers.example.com`,
      tokenHash: hashToken(tokens[name]),
      status: 'active',
      role: homes[name] === null ? null : role(homes[name]),
    });
  }
  const links: [user: number, policy: number][] = [
    [callerNumbers.admin, 1],
    [callerNumbers.homeless, 5],
    [callerNumbers.homeless, 6],
    [callerNumbers.homeless, 2],
    [callerNumbers.fields, 5],
  ];
  for (let index = 1; index <= 60; index++) if (index % 4 < 2) links.push([index, (index % 5) + 2], [index, 7]);
  await db.insert(userPolicies).values(links.map(([u, p]) => ({ user: user(u), policy: policy(p) })));
}

/** Reads all stored data without the query language. */
export async function readWorld({ db }: FastifyInstance): Promise<World> {
  const items = (rows: Record<string, unknown>[]) =>
    rows.map(
      (row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
            value instanceof Date ? value.toISOString() : value,
          ]),
        ) as Item,
    );
  const everyUser = async () => {
    const found = await db.select().from(users).innerJoin(userUses, eq(userUses.user, users.id)).orderBy(asc(users.id));
    return found.map(({ users: user, user_uses: { lastAccess } }) => ({ ...user, lastAccess }));
  };
  return {
    users: items(await everyUser()).map(({ token_hash = null, ...user }) => ({
      ...(user as Item),
      token: token_hash,
    })),
    roles: items(await db.select().from(roles)),
    policies: items(await db.select().from(policies)),
    permissions: items(await db.select().from(permissions)),
    userPolicies: await db.select().from(userPolicies),
    rolePolicies: await db.select().from(rolePolicies),
  };
}
