// @suite not-everyday: tries hundreds of setups

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { insertActivity } from '../../db/queries/activity/activity.js';
import { compactUserCounts } from '../../db/queries/users/user-counts.js';
import {
  permissions,
  policies,
  rolePolicies,
  roles,
  sessions,
  settings,
  userPolicies,
  users,
} from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { hashToken } from '../../plugins/tokens/refresh-tokens.js';
import { settingNames } from '../../schemas/settings.js';
import { asAdmin, startWithAdmin, stateOf } from '../helpers/http/writing.js';
import { amountOf } from '../helpers/runner/long.js';
import { bearer } from '../helpers/service/app.js';
import { rfcSecret } from '../helpers/users/totp.js';

/** The number of setups; `npm run test:explain` tries 100,000. */
const runs = amountOf('EXPLAIN_RUNS', { short: 150, long: 5_000 });
/** The seed printed by a failed run, to repeat its setups and simplify the one that failed. */
const seed =
  process.env.EXPLAIN_SEED === undefined ? { endOnFailure: true } : { seed: Number(process.env.EXPLAIN_SEED) };

t.setTimeout(36_000_000);
// Tokens may change the credentials of their own users, because what a credential may do is not part of an explanation.
// The clock is stopped, because filters contain the time that `$NOW` stands for.
const now = new Date();
const { app } = await startWithAdmin(t, { REAUTHENTICATION_PERIOD: '0' }, { clock: () => now });
const { db } = app;

const [root] = await rows<{ id: string; role: string; policy: string }>(
  db,
  sql`select u.id, u.role, rp.policy from ${users} u join ${rolePolicies} rp on rp.role = u.role`,
);
if (!root) throw new Error('There is no administrator.');

const id = (kind: string, index: number) => `${kind}0000000-0000-4000-8000-00000000000${index}`;
const policyIds = [0, 1, 2, 3].map((index) => id('a', index));
const roleIds = [0, 1, 2].map((index) => id('b', index));
const newPolicy = id('a', 9);
const newRole = id('b', 9);
const people = { subject: id('c', 0), member: id('c', 1), other: id('c', 2), suspended: id('c', 3) };
const tokenOf = (name: string) => `the-static-token-of-the-${name}-in-the-setups`;
const secrets = Object.fromEntries(
  Object.values(people).map((user) => [user, app.tfaSecrets.seal(rfcSecret.base32, user)]),
);

type Rule = Record<string, unknown> | null;
type AboutUsers = 'activity' | 'mails' | 'sessions';
type Name = 'users' | 'roles' | 'policies' | 'permissions' | 'settings' | AboutUsers;
type Action = 'create' | 'read' | 'update' | 'delete';

/** The users whom entries of the audit log, emails, and sessions are about. Null: no user. The last one is about a user who is deleted. */
const owners = [...Object.values(people), root.id, null, id('c', 9)];
/** The user whom an item is about. The list contains items about the first owners, in their order. */
const ownerOf = (list: readonly string[], item: unknown) => owners[list.indexOf(String(item))] ?? null;

const activityIds = owners.map((_, index) => id('d', index));
const timestamp = new Date('2024-01-01');
const entry = { timestamp, code: null, reason: null, actor: null, requestId: null, changed: null, seal: '' };
await insertActivity(
  db,
  owners.map((user, index) => ({
    ...{ ...entry, id: activityIds[index] ?? '', action: index % 2 ? 'login' : 'logout', outcome: 'success' },
    ...{ user, collection: 'users', item: 'x', ip: '192.0.2.1', userAgent: 'x' },
  })) as never,
);

const sessionOwners = owners.filter((user) => user !== null && user !== id('c', 9)) as string[];
const sessionIds = sessionOwners.map((_, index) => id('e', index));

const url = `${app.config.PUBLIC_URL}/account/`;
for (const user of owners) {
  const job =
    user === null ? { kind: 'reset', email: 'x@example.com', url } : { kind: 'invite', user, url, invitedBy: null };
  await app.mail.enqueue(db, job as never);
}
// One that has not failed.
await app.mail.enqueue(db, { kind: 'invite', user: people.other, url, invitedBy: null });
const jobs = sql.identifier(app.databaseConnection.schemas.queue);
const queued = await rows<{ id: string }>(
  db,
  sql`select id from ${jobs}.job where name = 'mail' order by created_on, id`,
);
const mailIds = queued.map((job) => job.id);
if (mailIds.length !== owners.length + 1) throw new Error('Emails are missing.');

const operations: Record<AboutUsers, readonly Action[]> = {
  activity: ['read'],
  mails: ['read', 'update'],
  sessions: ['read', 'delete'],
};
const isAboutUsers = (name: Name): name is AboutUsers => name in operations;

const me = { id: { _eq: '$CURRENT_USER' } };
const rules: Record<Name, Rule[]> = {
  users: [
    null,
    {},
    { status: { _eq: 'active' } },
    me,
    { id: { _in: ['$CURRENT_USER', people.other] } },
    { role: { _eq: '$CURRENT_ROLE' } },
    { role: { _in: '$CURRENT_ROLES' } },
    { role: { _null: true } },
    { role: { name: { _icontains: 'one' } } },
    { policies: { _some: { app_access: { _eq: true } } } },
    { policies: { _none: { id: { _eq: policyIds[0] } } } },
    { policies: { _some: { id: { _in: '$CURRENT_POLICIES' } } } },
    { _or: [{ title: { _eq: 'a' } }, me] },
    { _and: [{ title: { _neq: 'a' } }, { title: { _nnull: true } }], status: { _in: 'active,suspended' } },
    { role: { users: { _some: { status: 'suspended' } } } },
    { created_at: { _lt: '$NOW(-1 day)' } },
    { role: { _neq: '$CURRENT_ROLE' } },
  ],
  roles: [
    null,
    { id: { _in: '$CURRENT_ROLES' } },
    { name: { _starts_with: 'Role' } },
    { parent: { _null: true } },
    { users: { _some: me } },
    { policies: { _some: { admin_access: { _eq: true } } } },
  ],
  policies: [
    null,
    { admin_access: { _eq: false } },
    { id: { _in: '$CURRENT_POLICIES' } },
    { roles: { _some: { id: { _in: '$CURRENT_ROLES' } } } },
  ],
  permissions: [null, { policy: { app_access: { _eq: true } } }, { action: { _eq: 'read' } }],
  settings: [null, null, {}, { project_name: { _eq: 'x' } }],
  activity: [
    null,
    { action: { _eq: 'login' } },
    { user: me },
    { user: { status: { _eq: 'active' } } },
    { user: { role: { _null: true } } },
  ],
  mails: [
    null,
    { kind: { _eq: 'invite' } },
    { user: me },
    { user: { status: { _eq: 'active' } } },
    { user: { _null: true } },
  ],
  sessions: [
    null,
    { address: { _eq: '192.0.2.1' } },
    { user: me },
    { user: { role: { _in: '$CURRENT_ROLES' } } },
    { user: { status: { _neq: 'suspended' } } },
  ],
};

/** Values that a request can write without consequences for other requests, by field. */
const values: Record<Name, Record<string, () => unknown>> = {
  users: {
    title: () => 'c',
    location: () => 'here',
    tags: () => ['x'],
    role: () => roleIds[1],
    policies: () => [policyIds[2]],
    email: () => `${randomUUID()}@example.com`,
    password: () => 'a password that is long enough',
    token: () => `${randomUUID()}${randomUUID()}`,
    provider: () => 'default',
    auth_data: () => null,
    created_at: () => '2024-01-01',
    id: () => randomUUID(),
    nonsense: () => 1,
  },
  roles: {
    name: () => 'New',
    icon: () => 'x',
    parent: () => null,
    policies: () => [],
    users: () => [],
    nonsense: () => 1,
  },
  policies: {
    name: () => 'New',
    description: () => 'x',
    enforce_tfa: () => false,
    app_access: () => false,
    ip_access: () => null,
    permissions: () => [],
  },
  permissions: { fields: () => ['id'], permissions: () => null },
  settings: {
    project_name: () => 'x',
    default_language: () => 'en-US',
    self_service: () => true,
    email_login: () => false,
    nonsense: () => 1,
  },
  activity: {},
  mails: {},
  sessions: {},
};
const readable: Record<Name, string[]> = {
  users: ['id', 'email', 'title', 'role', 'policies', 'status', 'token', 'tags', 'created_at', 'password', 'nonsense'],
  roles: ['id', 'name', 'parent', 'children', 'policies', 'users', 'nonsense'],
  policies: ['id', 'name', 'ip_access', 'app_access', 'permissions', 'roles'],
  permissions: ['id', 'policy', 'collection', 'permissions', 'fields'],
  settings: ['project_name', 'default_language', 'self_service', 'public_policy', 'nonsense'],
  activity: ['id', 'action', 'user', 'ip', 'item', 'nonsense'],
  mails: ['id', 'kind', 'state', 'user', 'attempts', 'nonsense'],
  sessions: ['id', 'device', 'address', 'current', 'applications', 'nonsense'],
};

const collection = fc.constantFrom<Name>(
  'users',
  'users',
  'users',
  'users',
  'roles',
  'policies',
  'permissions',
  'settings',
  'activity',
  'mails',
  'sessions',
);
const action = fc.constantFrom<Action>('read', 'read', 'read', 'update', 'update', 'create', 'delete');
const actionOn = (name: Name) =>
  isAboutUsers(name)
    ? fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...operations[name]) }, { weight: 1, arbitrary: action })
    : action;
const fieldOn = (name: Name, what: Action) =>
  fc.constantFrom(...(what === 'read' || isAboutUsers(name) ? readable[name] : Object.keys(values[name])));
const subset = <T>(list: readonly T[], maxLength = 4) =>
  fc.subarray([...list], { minLength: 0, maxLength: Math.min(maxLength, list.length) });

const permission = (focus: Name, focusAction: Action) =>
  fc
    .tuple(
      fc.oneof({ weight: 5, arbitrary: fc.constant(focus) }, { weight: 1, arbitrary: collection }),
      fc.oneof({ weight: 5, arbitrary: fc.constant(focusAction) }, { weight: 1, arbitrary: action }),
    )
    // The API stores no permission for an action that a collection does not have.
    .map(([name, what]): [Name, Action] =>
      isAboutUsers(name) && !operations[name].includes(what) ? [name, 'read'] : [name, what],
    )
    .chain(([name, what]) =>
      fc.record({
        policy: fc.constantFrom(...policyIds),
        collection: fc.constant(name),
        action: fc.constant(what),
        fields: fc.oneof(
          { weight: 5, arbitrary: fc.constant<string[] | null>(['*']) },
          { weight: 1, arbitrary: fc.constant<string[] | null>(null) },
          {
            weight: 6,
            arbitrary: subset(
              [...readable[name], ...Object.keys(values[name]), ...(name === 'users' ? ['email'] : ['name'])],
              8,
            ),
          },
        ),
        // New items cannot be chosen so that they match any rule.
        permissions: what === 'create' ? fc.constant<Rule>(null) : fc.constantFrom(...rules[name]),
        presets:
          what === 'create' && name === 'users'
            ? fc.constantFrom<Rule>(null, { title: 'preset' }, { role: roleIds[0] }, { email: null })
            : fc.constant<Rule>(null),
      }),
    );

/** The API stores no rules for settings. It refuses changes with them. */
const stored = <T extends { collection: Name; permissions: Rule }>(one: T): T =>
  one.collection === 'settings' ? { ...one, permissions: null } : one;

const rarely = fc.integer({ min: 0, max: 9 }).map((number) => number === 0);
const ranges = fc.constantFrom<string[] | null>(null, null, null, null, ['127.0.0.0/8'], ['192.0.2.0/24']);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const changesOf = (focus: Name, focusAction: Action) =>
  fc.record(
    {
      policies: fc.array(
        fc.oneof(
          fc.record(
            {
              id: fc.constantFrom(...policyIds),
              app_access: fc.boolean(),
              admin_access: rarely,
              enforce_tfa: rarely,
              ip_access: fc.constantFrom(null, ['127.0.0.1'], ['192.0.2.1'], ['not an address']),
            },
            { requiredKeys: ['id'] },
          ),
          fc.record({ id: fc.constant(newPolicy), name: fc.constantFrom('New', 7), app_access: fc.boolean() }),
        ),
        { maxLength: 2 },
      ),
      roles: fc.array(
        fc.oneof(
          fc.record(
            {
              id: fc.constantFrom(...roleIds),
              parent: fc.constantFrom(null, ...roleIds, newRole),
              policies: subset([...policyIds, newPolicy]),
            },
            { requiredKeys: ['id'] },
          ),
          fc.record({ id: fc.constant(newRole), name: fc.constant('New'), policies: subset(policyIds) }),
        ),
        { maxLength: 2 },
      ),
      permissions: fc.array(
        fc.oneof(
          { weight: 3, arbitrary: permission(focus, focusAction) },
          {
            weight: 1,
            arbitrary: fc.record(
              {
                /** Stands for the ID of a stored permission. */
                id: fc.integer({ min: 0, max: 6 }),
                fields: fc.constantFrom(['*'], ['id', 'email'], []),
                permissions: fc.constantFrom<Rule>(null, ...rules[focus]),
              },
              { requiredKeys: ['id'] },
            ),
          },
        ),
        { maxLength: 3 },
      ),
      deleted: fc.record(
        {
          permissions: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { maxLength: 2 }),
          roles: subset(roleIds, 1),
          policies: subset(policyIds, 1),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );

const focus = collection.chain((name) => fc.tuple(fc.constant(name), actionOn(name)));
const setup = focus.chain(([name, what]) =>
  fc.record({
    policies: fc.tuple(
      ...policyIds.map(() =>
        fc.record({ appAccess: rarely, adminAccess: rarely, enforceTfa: rarely, ipAccess: ranges }),
      ),
    ),
    roles: fc.tuple(...roleIds.map(() => fc.record({ policies: subset(policyIds, 2), hasParent: fc.boolean() }))),
    permissions: fc.array(permission(name, what).map(stored), { minLength: 2, maxLength: 6 }),
    publicPolicy: fc.boolean(),
    subject: fc.record({
      role: fc.constantFrom(null, ...roleIds),
      policies: fc.subarray(policyIds, { minLength: 2 }),
      status: fc.constantFrom('active', 'active', 'active', 'active', 'active', 'suspended'),
      hasTfa: fc.boolean(),
    }),
    other: fc.record({ role: fc.constantFrom(null, root.role, ...roleIds), policies: subset(policyIds, 2) }),
    who: fc.constantFrom<'user' | 'role' | 'public'>('user', 'user', 'user', 'role', 'public'),
    question: fc.record({
      collection: fc.constant(name),
      action: fc.constant(what),
      item: maybe(fc.integer({ min: 0, max: 9 })),
      field: maybe(fieldOn(name, what)),
    }),
    changes: fc.option(changesOf(name, what), { nil: undefined, freq: 2 }),
  }),
);
type Setup = typeof setup extends fc.Arbitrary<infer T> ? T : never;

/** Stores a setup in place of the one before it. @returns the IDs of its permissions */
async function store({ policies: flags, roles: own, permissions: granted, publicPolicy, subject, other, who }: Setup) {
  return db.transaction(async (tx) => {
    await tx.execute(sql`delete from ${users} where ${users.id} <> ${root?.id}`);
    await tx.execute(sql`delete from ${roles} where ${roles.id} <> ${root?.role}`);
    await tx.execute(sql`delete from ${policies} where ${policies.id} <> ${root?.policy}`);
    await tx.insert(policies).values(
      policyIds.map((key, index) => {
        // Without access flags, so that it can be the public policy.
        const flag = index === 3 ? { ipAccess: flags[index]?.ipAccess ?? null } : (flags[index] ?? {});
        return { id: key, name: `Policy ${index}`, ...flag };
      }),
    );
    await tx.insert(roles).values(
      roleIds.map((key, index) => ({
        id: key,
        name: ['Role zero', 'Role one', 'Role two'][index] ?? '',
        parent: index > 0 && own[index]?.hasParent ? (roleIds[index - 1] ?? null) : null,
      })),
    );
    const links = roleIds.flatMap((role, index) => (own[index]?.policies ?? []).map((policy) => ({ role, policy })));
    if (links.length > 0) await tx.insert(rolePolicies).values(links);
    const common = { createdAt: new Date('2024-01-01'), password: '-', lastAccess: undefined };
    await tx.insert(users).values([
      {
        ...common,
        id: people.subject,
        email: 'subject@example.com',
        title: 'a',
        status: subject.status,
        role: subject.role,
        tfaSecret: subject.hasTfa ? (secrets[people.subject] ?? null) : null,
        tokenHash: hashToken(tokenOf('user')),
      },
      {
        ...common,
        id: people.member,
        email: 'member@example.com',
        title: 'b',
        role: who === 'role' ? (subject.role ?? roleIds[0] ?? null) : null,
        tfaSecret: secrets[people.member] ?? null,
        tokenHash: hashToken(tokenOf('role')),
      },
      { ...common, id: people.other, email: 'other@example.com', role: other.role, tags: ['y'] },
      {
        ...common,
        id: people.suspended,
        email: 'suspended@example.com',
        title: 'b',
        status: 'suspended',
        role: roleIds[1] ?? null,
      },
    ]);
    await tx.delete(sessions);
    const times = { createdAt: now, authenticatedAt: now, lastUsedAt: now, expiresAt: new Date('2100-01-01') };
    await tx.insert(sessions).values(
      sessionOwners.map((user, index) => ({
        ...{ id: sessionIds[index] ?? '', user, ...times },
        ...{ ip: index % 2 ? '192.0.2.1' : '198.51.100.1', userAgent: 'x' },
      })),
    );
    await tx.execute(
      sql`delete from ${jobs}.job where name = 'mail' and not id = any(${`{${mailIds.join()}}`}::uuid[])`,
    );
    await tx.execute(sql`update ${jobs}.job set output = '{"reason": "x"}',
      state = case when id = ${mailIds.at(-1)} then 'created' else 'failed' end::${jobs}.job_state where name = 'mail'`);
    const held = [
      ...subject.policies.map((policy) => ({ user: people.subject, policy })),
      ...other.policies.map((policy) => ({ user: people.other, policy })),
    ];
    if (held.length > 0) await tx.insert(userPolicies).values(held);
    await tx.update(settings).set({ publicPolicy: publicPolicy ? (policyIds[3] ?? null) : null });
    const made = await tx.insert(permissions).values(granted).returning({ id: permissions.id });
    return made.map((row) => row.id);
  });
}

const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, headers: object, payload?: object) =>
  app.inject({
    method,
    url,
    headers: headers as Record<string, string>,
    ...(payload === undefined ? {} : { payload }),
  });

const failureOf = (response: LightMyRequestResponse) => response.json().errors[0].extensions;

type Changes = Record<'policies' | 'roles' | 'permissions', Record<string, unknown>[]> & {
  deleted: Partial<Record<'permissions' | 'roles' | 'policies', unknown[]>>;
};

/** Makes the changes with the operations of the API, as an administrator would. @returns the error of the first that fails */
async function apply({ policies: P = [], roles: R = [], permissions: Q = [], deleted = {} }: Partial<Changes>) {
  const many = async (name: 'policies' | 'roles' | 'permissions', list: Record<string, unknown>[]) => {
    const exists = new Set<unknown>();
    for (const { id: key } of list) {
      if (key !== undefined && (await send('GET', `/${name}/${key}`, asAdmin)).statusCode === 200) exists.add(key);
    }
    const isNew = (item: Record<string, unknown>) =>
      item.id === undefined || (name !== 'permissions' && !exists.has(item.id));
    const created = list.filter(isNew);
    const updated = list.filter((item) => !isNew(item));
    if (created.length > 0) {
      const response = await send('POST', `/${name}`, asAdmin, created);
      if (response.statusCode >= 400) return failureOf(response);
    }
    if (updated.length > 0) {
      const response = await send('PATCH', `/${name}`, asAdmin, updated);
      if (response.statusCode >= 400) return failureOf(response);
    }
    return undefined;
  };
  const steps: (() => Promise<unknown>)[] = [
    () => many('policies', P),
    ...R.map((role) => () => many('roles', [role])),
    () => many('permissions', Q),
    ...(['permissions', 'roles', 'policies'] as const).map((name) => async () => {
      const keys = deleted[name] ?? [];
      if (keys.length === 0) return undefined;
      const response = await send('DELETE', `/${name}`, asAdmin, keys);
      return response.statusCode >= 400 ? failureOf(response) : undefined;
    }),
  ];
  for (const step of steps) {
    const failure = await step();
    if (failure) return failure;
  }
  return undefined;
}

interface Explained {
  allowed: boolean;
  fields: string[];
  filter: Rule;
  because: Record<string, unknown>[];
  missing: { code: string }[];
  counts: { items: number | null };
}
interface Question {
  collection: Name;
  action: Action;
  item?: string | number | undefined;
  field?: string | undefined;
}

const isDone = ({ statusCode }: LightMyRequestResponse) => statusCode < 300;

/** Compares an explanation of reading with what the API returns. */
async function checkRead(
  told: Explained,
  { collection: name, item, field }: Question,
  headers: object,
  isExact: boolean,
) {
  const place = `/${name}${item === undefined ? '' : `/${item}`}`;
  const limit = item === undefined && name !== 'settings' ? '&limit=0&meta=total_count' : '';
  const asked = await send('GET', `${place}?${field === undefined ? '' : `fields=${field}`}${limit}`, headers);
  if (item === undefined || field === undefined || !isDone(asked)) {
    expect(told.allowed, isDone(asked), 'allowed');
  } else {
    const actual = asked.json().data[field];
    const stored = (await send('GET', `${place}?fields=${field}`, asAdmin)).json().data[field];
    // A hidden value looks like one that is not set.
    if (stored !== null) expect(told.allowed, actual !== null && actual !== undefined, 'allowed');
  }
  if (!isDone(asked)) return;
  // Fields outside the list are refused or hidden.
  const everything = name === 'settings' ? settingNames : readable[name];
  for (const one of everything.filter((known) => known !== field).slice(0, 4)) {
    const isTold = told.fields.includes('*')
      ? isDone(await send('GET', `${place}?fields=${one}${limit}`, asAdmin))
      : told.fields.includes(one);
    const response = await send('GET', `${place}?fields=${one}${limit}`, headers);
    if (item === undefined) expect(isTold, isDone(response), `fields: ${one}`);
    else {
      const stored = await send('GET', `${place}?fields=${one}`, asAdmin);
      const isStored = isDone(stored) && stored.json().data[one] !== null;
      const actual = isDone(response) ? response.json().data[one] : null;
      if (isStored) expect(isTold, actual !== null && actual !== undefined, `fields: ${one}`);
    }
  }
  // Items about users are not counted.
  if (isAboutUsers(name)) return expect(told.counts.items, null, 'counts.items');
  if (item === undefined && field === undefined && name !== 'settings' && isExact) {
    expect(told.counts.items, asked.json().meta.total_count, 'counts.items');
    const filter = told.filter === null ? '' : `&filter=${encodeURIComponent(JSON.stringify(told.filter))}`;
    const found = await send('GET', `${place}?limit=0&meta=filter_count${filter}`, asAdmin);
    expect(found.json().meta?.filter_count, asked.json().meta.total_count, 'filter');
  }
}

/** What is asked about, and how. */
interface Asked {
  question: Question & { collection: AboutUsers };
  /** Explains the same for all items. */
  explain(more: Partial<Question>): Promise<Explained>;
  headers: object;
  /** The user whose credentials the headers contain. */
  self: string | undefined;
}

/** An email or a session in a list. */
interface Row {
  id?: string;
  can_retry?: boolean;
  can_end?: boolean;
}

const fieldsOf: Record<AboutUsers, readonly string[]> = {
  activity: [],
  mails: 'id kind state user email attempts created_at next_attempt_at limit reason'.split(' '),
  sessions: 'id device user_agent address created_at last_used_at expires_at current applications'.split(' '),
};

/** Compares an explanation of emails or sessions with what their operations do. */
async function checkAboutUsers(told: Explained, { question, explain, headers, self }: Asked) {
  const { collection: name, action: what, item, field } = question;
  if (self === undefined || !operations[name].includes(what)) return expect(told.allowed, false, 'allowed');
  if (what !== 'read') {
    // Both write no field.
    if (field !== undefined) return expect(told.allowed, false, 'allowed');
    if (item === undefined) {
      const mine = await send('GET', '/permissions/me', headers);
      return expect(told.allowed, isDone(mine) && mine.json().data[name]?.[what].access !== 'none', 'allowed');
    }
    const response =
      name === 'mails'
        ? await send('POST', `/mails/${item}/retry`, headers)
        : await send('DELETE', `/users/${ownerOf(sessionIds, item) ?? self}/sessions/${item}`, headers);
    return expect(told.allowed, isDone(response), `allowed: ${response.body}`);
  }
  const list = (owner: string) => send('GET', name === 'mails' ? '/mails' : `/users/${owner}/sessions`, headers);
  if (item === undefined && field === undefined) expect(told.allowed, isDone(await list(self)), 'allowed');
  if (item === undefined) return;
  const shownOn = ({ allowed, fields }: Explained) =>
    allowed ? (fields.includes('*') ? fieldsOf[name] : fields) : undefined;
  if (field !== undefined) {
    const { field: _, ...whole } = question;
    expect(told.allowed, shownOn(await explain(whole))?.includes(field) ?? false, 'allowed: the field');
  }
  const keysOf = (fields: readonly string[]) => [...fields].sort().join();
  const compare = async (owner: string, items: readonly string[]) => {
    const explained = await Promise.all(items.map((one) => explain({ item: one })));
    const response = await list(owner);
    const listed: Row[] = isDone(response) ? response.json().data : [];
    const real = listed.map(({ can_retry: _, can_end: __, ...fields }) => keysOf(Object.keys(fields)));
    for (const { id: key, can_retry: canRetry, can_end: canEnd } of listed) {
      if (key === undefined) continue;
      const { allowed } = await explain({ action: name === 'mails' ? 'update' : 'delete', item: key });
      expect(allowed, canRetry ?? canEnd, `whether ${key} can be written`);
    }
    const expected = explained.map(shownOn).flatMap((fields) => (fields === undefined ? [] : [keysOf(fields)]));
    expect(expected.sort(), real.sort(), `the items about ${owner}`);
  };
  if (name === 'mails') return compare(self, mailIds);
  for (const [index, owner] of sessionOwners.entries()) await compare(owner, [sessionIds[index] ?? '']);
}

async function checkWrite(told: Explained, { collection: name, action: what, item, field }: Question, headers: object) {
  const data = field === undefined ? {} : { [field]: values[name][field]?.() };
  if (name === 'settings') {
    if (what === 'update') expect(told.allowed, isDone(await send('PATCH', '/settings', headers, data)), 'allowed');
    else expect(told.allowed, false, 'allowed');
    return;
  }
  // Administrators can change the administrator whose token the test uses, and then it could not continue.
  const isRoot = item === root?.id || item === root?.role || item === root?.policy;
  if (isRoot && told.because.every(({ permission }) => permission === null)) return expectAdministrator(told, headers);
  // Updates accept an ID, but ignore it.
  if (what === 'update' && field === 'id') return expect(told.allowed, false, 'allowed');
  const attempt = () => {
    if (what === 'create') {
      const required = {
        users: { email: `${randomUUID()}@example.com` },
        roles: { name: 'x' },
        policies: { name: 'x' },
        permissions: { policy: policyIds[0], collection: 'users', action: 'read' },
      }[name as Exclude<Name, AboutUsers | 'settings'>];
      return send('POST', `/${name}`, headers, { ...required, ...data });
    }
    if (what === 'delete') {
      return item === undefined ? send('DELETE', `/${name}`, headers, []) : send('DELETE', `/${name}/${item}`, headers);
    }
    if (item !== undefined) return send('PATCH', `/${name}/${item}`, headers, data);
    return send('PATCH', `/${name}`, headers, { keys: [], data });
  };
  // Whether these can be written depends on the item.
  if (
    what === 'update' &&
    item === undefined &&
    ['provider', 'auth_data', 'users', 'permissions'].includes(field ?? '')
  )
    return;
  const response = await attempt();
  // The last administrator is protected whatever the rights.
  if (response.statusCode === 422) return;
  // The changes may have deleted what the value refers to. Rights are checked first.
  const isAllowed = isDone(response) || failureOf(response).code === 'INVALID_FOREIGN_KEY';
  expect(told.allowed, isAllowed, `allowed: ${response.body}`);
}

/** Nothing but admin access allows it. */
async function expectAdministrator(told: Explained, headers: object) {
  if (!told.allowed) return;
  const globals = await send('GET', '/policies/me/globals', headers);
  expect(globals.json().data.admin_access, true, 'admin access');
}

function expect(told: unknown, real: unknown, what: string): void {
  if (!isDeepStrictEqual(told, real))
    throw new Error(`${what}: explained ${JSON.stringify(told)}, really ${JSON.stringify(real)}`);
}

let count = 0;
const statistics = { allowed: 0, refused: 0, changed: 0, invalid: 0 };

t.test(`explanations of ${runs} random setups equal what the API does`, { timeout: 36_000_000 }, async (t) => {
  const holds = fc.asyncProperty(setup, async (generated) => {
    if (++count % 200 === 0) await compactUserCounts(db);
    const ids = await store(generated);
    const { who, subject } = generated;
    const role = subject.role ?? roleIds[0];
    const someone = who === 'user' ? { user: people.subject } : who === 'role' ? { role } : { public: true };
    const headers = who === 'public' ? {} : bearer(tokenOf(who));
    const permissionOf = (index: number) => ids[index % ids.length] as number;
    const items: Record<Name, readonly (string | number)[]> = {
      users: [...Object.values(people), root.id, randomUUID()],
      roles: [...roleIds, root.role],
      policies: [...policyIds, root.policy],
      permissions: ids,
      settings: [],
      activity: [...activityIds, randomUUID()],
      mails: [...mailIds, randomUUID()],
      sessions: [...sessionIds, randomUUID()],
    };
    const { collection: name, action: what, item: number, field } = generated.question;
    const list = items[name];
    const item =
      number === undefined || what === 'create' || list.length === 0 ? undefined : list[number % list.length];
    const question = {
      collection: name,
      action: what,
      ...(item === undefined ? {} : { item }),
      ...(field === undefined || what === 'delete' ? {} : { field }),
    };
    const changes = generated.changes as Partial<Changes> | undefined;
    if (changes?.permissions) {
      changes.permissions = changes.permissions.map((one) =>
        typeof one.id === 'number' ? { ...one, id: permissionOf(one.id) } : one,
      );
    }
    if (changes?.deleted?.permissions) {
      changes.deleted = {
        ...changes.deleted,
        permissions: [...new Set((changes.deleted.permissions as number[]).map(permissionOf))],
      };
    }
    const body = { ...someone, ...question, ip: '127.0.0.1' };
    let after: Explained | undefined;
    const before = count % 10 === 0 ? await stateOf(app) : undefined;
    const response = await send('POST', '/permissions/explain', asAdmin, { ...body, ...(changes && { changes }) });
    if (before !== undefined) expect(await stateOf(app), before, 'what is stored');
    if (changes) {
      statistics.changed++;
      const failure = await apply(changes);
      if (response.statusCode >= 400 || failure) {
        statistics.invalid++;
        expect(response.statusCode < 400 ? undefined : failureOf(response), failure, 'the error');
        return;
      }
      const explained: Explained = (await send('POST', '/permissions/explain', asAdmin, body)).json().data;
      const told = response.json().data;
      const comparable = ({ because, ...rest }: Explained) => ({
        ...rest,
        because: because.map(({ permission: _, change: __, ...reason }) => reason),
      });
      expect(comparable(told), comparable(explained), 'the explanation after the changes');
      after = explained;
    }
    if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`);
    // Only the permissions that are stored by now have IDs.
    const told: Explained = after ?? response.json().data;
    statistics[told.allowed ? 'allowed' : 'refused']++;
    expect(told.allowed, told.missing.length === 0, 'missing');
    // Users whose role is deleted have no role, but nobody can have a deleted role.
    if (told.missing.some(({ code }) => code === 'no_such_role')) return;
    // A role stands for users who are not stored, so what concerns the user's own row cannot be compared.
    const isExact =
      who !== 'role' || !/CURRENT_USER/.test(JSON.stringify([told.filter, generated.permissions, changes ?? 0]));
    const ownerLists: Partial<Record<Name, readonly string[]>> = {
      users: Object.values(people),
      activity: activityIds,
      mails: mailIds,
      sessions: sessionIds,
    };
    const isAboutMember = (one: unknown) => ownerOf(ownerLists[name] ?? [], one) === people.member;
    const isComparable = who !== 'role' || (isExact && !isAboutMember(item)) || item === undefined;
    if (!isComparable) return;
    // Whether a new item matches a rule depends on its values.
    if (what === 'create' && changes?.permissions?.some((one) => one.id !== undefined && one.permissions)) return;
    const self = { user: people.subject, role: people.member, public: undefined }[who];
    const explain = async (more: Partial<Question>): Promise<Explained> =>
      (
        await send('POST', '/permissions/explain', asAdmin, {
          ...(who === 'role' && isAboutMember(more.item) ? { user: people.member } : someone),
          ip: '127.0.0.1',
          collection: name,
          action: what,
          ...more,
        })
      ).json().data;
    if (isAboutUsers(name) && (name !== 'activity' || what !== 'read'))
      await checkAboutUsers(told, { question: { ...question, collection: name }, explain, headers, self });
    else if (what === 'read') await checkRead(told, question, headers, isExact);
    else await checkWrite(told, question, headers);
  });
  await fc.assert(holds, { numRuns: runs, ...seed });
  t.comment(JSON.stringify(statistics));
  t.ok(statistics.allowed > runs / 10, `allowed: ${statistics.allowed}`);
  t.ok(statistics.refused > runs / 10, `refused: ${statistics.refused}`);
  t.ok(statistics.changed > runs / 10, `with changes: ${statistics.changed}`);
});
