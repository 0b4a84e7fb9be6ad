// @suite not-everyday: tries hundreds of cases

import { eq, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { permissions, roles, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { sameStored } from '../helpers/database/same-stored.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { assertUnchanged, createPolicy, createRole, policyWith, setPublicPolicy } from '../helpers/users/rights.js';
import { createUser, createUserWithToken, type UserWithToken } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, request } = service;

/** Conditions on users, each as a predicate and as the equivalent permission rule. */
const red = { means: (user: Person) => user.first_name === 'red', rule: { first_name: { _eq: 'red' } } };
const blue = { means: (user: Person) => user.last_name === 'blue', rule: { last_name: { _eq: 'blue' } } };
const self = {
  means: (user: Person, caller: string | null) => user.id === caller,
  rule: { id: { _eq: '$CURRENT_USER' } },
};
const all = { means: () => true, rule: null };

interface Person {
  id: string;
  first_name: string | null;
  last_name: string | null;
  title: string | null;
  location: string | null;
  description: string | null;
  email: string | null;
}

interface Right {
  action: 'create' | 'read' | 'update' | 'delete';
  of: { means(user: Person, caller: string | null): boolean; rule: Record<string, unknown> | null };
  fields: string[];
}

const fields = ['title', 'location', 'description'] as const;
type Field = (typeof fields)[number];

/** Each caller’s rights to users. The tests below are derived from this table. */
const table: Record<string, { rights: Right[]; kind?: 'admin' | 'app' | 'public' | 'roleless' }> = {
  administrator: { kind: 'admin', rights: [] },
  'own row': {
    rights: [
      { action: 'read', of: self, fields: ['*'] },
      { action: 'update', of: self, fields: ['*'] },
    ],
  },
  'field list': {
    rights: [
      { action: 'read', of: all, fields: ['id', 'title'] },
      { action: 'update', of: all, fields: ['title', 'description'] },
      { action: 'create', of: all, fields: ['email', 'password', 'title'] },
      { action: 'delete', of: red, fields: [] },
    ],
  },
  'two permissions': {
    rights: [
      { action: 'read', of: red, fields: ['id', 'title'] },
      { action: 'read', of: blue, fields: ['id', 'location'] },
      { action: 'update', of: red, fields: ['title'] },
      { action: 'update', of: blue, fields: ['location'] },
      { action: 'delete', of: blue, fields: [] },
    ],
  },
  'writes unseen': {
    rights: [
      { action: 'update', of: all, fields: ['*'] },
      { action: 'create', of: all, fields: ['*'] },
    ],
  },
  'no role': { kind: 'roleless', rights: [] },
  'no rights': { rights: [] },
  'app access': { kind: 'app', rights: [{ action: 'read', of: self, fields: ['*'] }] },
  anonymous: { kind: 'public', rights: [] },
};
const publicRights: Right[] = [
  { action: 'read', of: blue, fields: ['id', 'title'] },
  { action: 'update', of: blue, fields: ['title'] },
  { action: 'create', of: all, fields: ['email', 'title'] },
];
const everything = (action: Right['action']): Right => ({ action, of: all, fields: ['*'] });

const role = await createRole(app);
const chief = await createUser(app, {
  role: (await app.db.select().from(roles)).find(({ name }) => name === 'Administrator')?.id ?? null,
});
const texts = (name: string) => ({ title: `${name} title`, location: `${name} location`, description: `${name} text` });
const items = {
  red: (await createUser(app, { firstName: 'red', ...texts('red') })).id,
  blue: (await createUser(app, { lastName: 'blue', ...texts('blue') })).id,
  both: (await createUser(app, { firstName: 'red', lastName: 'blue', ...texts('both') })).id,
  neither: (await createUser(app, texts('neither'))).id,
  chief: chief.id,
};

const stored = (rights: readonly Right[]) =>
  rights.map(({ action, of, fields }) => ({ collection: 'users', action, permissions: of.rule, fields }));

interface Caller extends Pick<UserWithToken, 'headers'> {
  id: string | null;
  rights: Right[];
  isAdmin: boolean;
}

async function callerOf(name: string): Promise<Caller> {
  const { kind, rights } = table[name] ?? { rights: [] };
  if (kind === 'public') return { id: null, headers: {} as UserWithToken['headers'], rights, isAdmin: false };
  const policy = await policyWith(app, kind === 'app' ? [] : stored(rights), {
    appAccess: kind === 'app',
    adminAccess: kind === 'admin',
  });
  const { id, headers } = await createUserWithToken(app, {
    ...(kind === 'roleless' ? {} : { role, policies: [policy] }),
  });
  if (kind === 'admin') {
    const every = (['create', 'read', 'update', 'delete'] as const).map(everything);
    return { id, headers, rights: every, isAdmin: true };
  }
  return { id, headers, rights, isAdmin: false };
}

/** Every stored user, without the last access. Read as one value, because the tests need it thousands of times. */
async function people(): Promise<Map<string, Person & Record<string, unknown>>> {
  const [found] = await rows<{ people: (Person & Record<string, unknown>)[] }>(
    app.db,
    sql`select json_agg(to_jsonb(u) - 'last_access' order by id) as people from users u`,
  );
  return new Map(found?.people.map((person) => [person.id, person]));
}

/**
 * What the table allows: the caller’s rights for an action, limited to those that apply to an item and include a field.
 */
function expectationsFor(caller: Caller) {
  const having = (action: Right['action']) => caller.rights.filter((right) => right.action === action);
  const on = (action: Right['action'], user: Person) => having(action).filter(({ of }) => of.means(user, caller.id));
  const naming = (rights: Right[], field: string) =>
    rights.filter(({ fields }) => fields.includes('*') || fields.includes(field));
  return {
    has: (action: Right['action']) => having(action).length > 0,
    names: (action: Right['action'], field: string) => naming(having(action), field).length > 0,
    sees: (user: Person) => on('read', user).length > 0,
    shows: (user: Person, field: string) => naming(on('read', user), field).length > 0,
    mayUpdate: (user: Person, written: readonly string[]) =>
      on('update', user).length > 0 &&
      written.every((field) => naming(on('update', user), field).length > 0) &&
      (caller.isAdmin || user.id !== items.chief),
    mayDelete: (user: Person) => on('delete', user).length > 0 && (caller.isAdmin || user.id !== items.chief),
  };
}

async function checkReads(t: Test, who: string, caller: Caller) {
  const { has, names, sees, shows } = expectationsFor(caller);
  const everyone = [...(await people()).values()];
  const shown = (user: Person, field: Field) => (shows(user, field) ? user[field] : null);
  const { headers } = caller;
  for (const field of fields) {
    const isReadable = has('read') && names('read', field);
    const list = (query: object) =>
      Promise.all([
        request({ method: 'GET', url: '/users', query: flat(query), headers }),
        request({ method: 'SEARCH', url: '/users', payload: { query }, headers }),
      ]);
    const query = { fields: ['id', field], sort: ['id'], meta: ['*'] };
    for (const response of await list(query)) {
      t.equal(response.statusCode, isReadable ? 200 : 403, `${who} lists ${field}`);
      if (!isReadable) continue;
      const visible = everyone.filter((user) => sees(user));
      t.strictSame(
        response.json(),
        {
          data: visible.map((user) => ({ id: user.id, [field]: shown(user, field) })),
          meta: { total_count: visible.length, filter_count: visible.length },
        },
        `${who} lists ${field}`,
      );
    }
    for (const [name, id] of Object.entries({ ...items, self: caller.id })) {
      const user = everyone.find((one) => one.id === id);
      if (!user) continue;
      const isSeen = isReadable && sees(user);
      const one = await request({ method: 'GET', url: `/users/${id}`, query: { fields: field }, headers });
      t.equal(one.statusCode, isSeen ? 200 : 403, `${who} reads ${field} of ${name}`);
      if (isSeen)
        t.strictSame(one.json(), { data: { [field]: shown(user, field) } }, `${who} reads ${field} of ${name}`);
      const value = user[field];
      if (value === null) continue;
      const isFound = isSeen && shows(user, field);
      for (const selection of [{ filter: { [field]: { _eq: value } } }, { search: value }]) {
        const asked = { ...query, ...selection };
        for (const response of [await request({ method: 'GET', url: '/users', query: flat(asked), headers })]) {
          const what = `${who} searches for ${name} by ${field} ${Object.keys(selection)}`;
          t.equal(response.statusCode, isReadable ? 200 : 403, what);
          if (!isReadable) continue;
          t.strictSame(response.json().data, isFound ? [{ id, [field]: value }] : [], what);
          t.equal(response.json().meta.filter_count, isFound ? 1 : 0, what);
        }
      }
    }
  }
}

/** A query as URL parameters. */
const flat = (query: object) =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(',') : typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  );

async function checkUpdates(t: Test, who: string, caller: Caller) {
  const { has, sees, mayUpdate } = expectationsFor(caller);
  const { headers } = caller;
  let expected = await people();
  const sets: Field[][] = [['title'], ['location'], ['title', 'location'], ['description'], []];
  for (const written of sets) {
    for (const [name, id] of Object.entries({ ...items, self: caller.id })) {
      const user = id === null ? undefined : expected.get(id);
      if (!user) continue;
      for (const form of ['one', 'keys', 'query', 'list'] as const) {
        const what = `${who} updates ${written} of ${name}, form ${form}`;
        const data = Object.fromEntries(written.map((field) => [field, `${field} ${Math.random()}`]));
        const [url, payload] = {
          one: [`/users/${id}`, data] as const,
          keys: ['/users', { keys: [id], data }] as const,
          query: ['/users', { query: { filter: { id: { _eq: id } } }, data }] as const,
          list: ['/users', [{ id, ...data }]] as const,
        }[form];
        const isNamed = written.every((field) => expectationsFor(caller).names('update', field));
        const isSelected: boolean = form !== 'query' || (has('read') && sees(user));
        const isAllowed: boolean = has('update') && isNamed && (isSelected ? mayUpdate(user, written) : has('read'));
        const answered: boolean = form === 'one' ? sees(user) : has('read');
        const { statusCode, body } = await request({ method: 'PATCH', url, payload, headers });
        t.equal(statusCode, !isAllowed ? 403 : answered ? 200 : 204, `${what}: ${body}`);
        if (isAllowed && isSelected) expected = new Map(expected).set(user.id, { ...user, ...data });
        sameStored(t, await people(), expected, what);
        Object.assign(user, isAllowed && isSelected ? data : {});
      }
    }
  }
}

async function checkCreations(t: Test, who: string, caller: Caller) {
  const { has, names } = expectationsFor(caller);
  for (const field of [...fields, 'id', 'status', 'language']) {
    const written = {
      title: 'x',
      location: 'x',
      description: 'x',
      id: crypto.randomUUID(),
      status: 'draft',
      language: 'x',
    };
    const value = written[field as keyof typeof written];
    const email = `${crypto.randomUUID()}@example.com`;
    const item = { email, password: 'the password of a new user', [field]: value };
    const isAllowed = has('create') && Object.keys(item).every((name) => names('create', name));
    const before = await people();
    const response = await request({ method: 'POST', url: '/users', payload: item, headers: caller.headers });
    const what = `${who} creates a user with ${field}: ${response.body}`;
    // The response is 204 if the caller cannot read the new user.
    t.ok(isAllowed ? [200, 204].includes(response.statusCode) : response.statusCode === 403, what);
    const made = [...(await people()).values()].filter(({ id }) => !before.has(id));
    t.equal(made.length, isAllowed ? 1 : 0, what);
    if (isAllowed) t.match(made[0], { email, [field]: value, role: null, provider: 'default' }, what);
    for (const { id } of made) await app.db.delete(users).where(eq(users.id, id));
    const others = await people();
    sameStored(t, others, before, what);
  }
}

async function checkDeletions(t: Test, who: string, caller: Caller) {
  const { has, sees, mayDelete } = expectationsFor(caller);
  const create = {
    red: () => createUser(app, { firstName: 'red' }),
    blue: () => createUser(app, { lastName: 'blue' }),
    neither: () => createUser(app),
    chief: async () => chief,
  };
  for (const [name, make] of Object.entries(create)) {
    for (const form of ['one', 'list', 'keys', 'query'] as const) {
      if (caller.isAdmin && name === 'chief') continue;
      const { id } = await make();
      const before = await people();
      const user = before.get(id);
      if (!user) throw new Error(name);
      const payload = { one: {}, list: [id], keys: { keys: [id] }, query: { query: { filter: { id: { _eq: id } } } } }[
        form
      ];
      const url = form === 'one' ? `/users/${id}` : '/users';
      const isSelected: boolean = form !== 'query' || (has('read') && sees(user));
      const isAllowed = has('delete') && (isSelected ? mayDelete(user) : has('read'));
      const { statusCode } = await request({ method: 'DELETE', url, payload, headers: caller.headers });
      const what = `${who} deletes ${name}, form ${form}`;
      t.equal(statusCode, isAllowed ? 204 : 403, what);
      if (isAllowed && isSelected) before.delete(id);
      sameStored(t, await people(), before, what);
    }
  }
}

const checkAll = async (t: Test, who: string, caller: Caller) => {
  await checkReads(t, who, caller);
  await checkUpdates(t, who, caller);
  await checkCreations(t, who, caller);
  await checkDeletions(t, who, caller);
};

for (const who of Object.keys(table)) {
  t.test(`access to users: ${who} (CVE-2025-27089)`, async (t) => checkAll(t, who, await callerOf(who)));
}

for (const who of ['anonymous', 'no role', 'no rights']) {
  t.test(`access to users: ${who}, with a public policy`, async (t) => {
    await setPublicPolicy(app, await policyWith(app, stored(publicRights)));
    const caller = await callerOf(who);
    // The public policy applies only to anonymous callers and to users without a role.
    await checkAll(t, who, { ...caller, rights: who === 'no rights' ? [] : publicRights });
    await setPublicPolicy(app, null);
  });
}

t.test('access to roles, policies, permissions and settings for each caller (GHSA-p623-wgx3-wxp8)', async (t) => {
  const [keptRole, keptPolicy] = [await createRole(app), await createPolicy(app)];
  const [permission] = await app.db
    .insert(permissions)
    .values({ policy: keptPolicy, collection: 'users', action: 'read', fields: ['title'] })
    .returning({ id: permissions.id });
  const named = (collection: string, ...names: string[]) =>
    (['create', 'read', 'update', 'delete'] as const).map((action) => ({ collection, action, fields: names }));
  const lister = await policyWith(app, [
    ...named('roles', 'id', 'name'),
    ...named('policies', 'id', 'name'),
    ...named('permissions', '*'),
    ...named('settings', 'project_name', 'auth_password_policy'),
  ]);
  const reader = await policyWith(app, [
    { collection: 'roles', action: 'read', fields: ['*'], permissions: { id: { _eq: keptRole } } },
    { collection: 'policies', action: 'read', fields: ['*'], permissions: { id: { _eq: keptPolicy } } },
    { collection: 'permissions', action: 'read', fields: ['*'], permissions: { policy: { _eq: keptPolicy } } },
    { collection: 'settings', action: 'read', fields: ['*'] },
  ]);
  const everybody = {
    administrator: await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] }),
    lister: await createUserWithToken(app, { role, policies: [lister] }),
    reader: await createUserWithToken(app, { role, policies: [reader] }),
    'no rights': await createUserWithToken(app, { role }),
    anonymous: { headers: {} as UserWithToken['headers'] },
  };
  type Who = keyof typeof everybody;
  const roleId = keptRole;
  const made = { policy: keptPolicy, collection: 'roles', action: 'read', fields: ['id'] };
  // Each request, and the callers who are allowed to send it. All others get 403, and nothing changes.
  const cells: [
    what: string,
    method: 'GET' | 'SEARCH' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload: object | null,
    granted: Who[],
  ][] = [
    ...(['roles', 'policies', 'permissions'] as const).flatMap((name): typeof cells => {
      const id = { roles: roleId, policies: keptPolicy, permissions: permission?.id }[name];
      const readers: Who[] = ['administrator', 'lister', 'reader'];
      const change = name === 'permissions' ? { fields: ['id'] } : { name: 'Renamed' };
      const other = name === 'permissions' ? { action: 'update' } : { description: 'Described' };
      const item = name === 'permissions' ? made : { name: 'Made' };
      const writers: Who[] = name === 'permissions' ? ['administrator'] : ['administrator', 'lister'];
      return [
        ['list', 'GET', `/${name}`, null, readers],
        ['list', 'SEARCH', `/${name}`, { query: {} }, readers],
        ['read', 'GET', `/${name}/${id}`, null, readers],
        ['a field', 'GET', `/${name}?fields=id`, null, readers],
        [
          'a field',
          'GET',
          `/${name}/${id}?fields=${name === 'permissions' ? 'action' : 'icon'}`,
          null,
          name === 'permissions' ? readers : ['administrator', 'reader'],
        ],
        ['create', 'POST', `/${name}`, item, writers],
        ['create', 'POST', `/${name}`, [item], writers],
        ['create', 'POST', `/${name}`, { ...item, ...other }, ['administrator']],
        ['update', 'PATCH', `/${name}/${id}`, change, writers],
        ['update', 'PATCH', `/${name}`, { keys: [id], data: change }, writers],
        ['update', 'PATCH', `/${name}`, { query: { filter: { id: { _eq: id } } }, data: change }, writers],
        ['update', 'PATCH', `/${name}`, [{ id, ...change }], writers],
        ['update', 'PATCH', `/${name}/${id}`, { ...change, ...other }, ['administrator']],
        ['delete', 'DELETE', `/${name}`, [id], []],
        ['delete', 'DELETE', `/${name}`, { keys: [id] }, []],
        ['delete', 'DELETE', `/${name}`, { query: { filter: { id: { _eq: id } } } }, []],
        ['delete', 'DELETE', `/${name}/${id}`, null, []],
      ];
    }),
    ['read', 'GET', '/settings', null, ['administrator', 'lister', 'reader']],
    ['a field', 'GET', '/settings?fields=project_name', null, ['administrator', 'lister', 'reader']],
    ['a field', 'GET', '/settings?fields=project_color', null, ['administrator', 'reader']],
    ['update', 'PATCH', '/settings', { project_name: 'Renamed' }, ['administrator', 'lister']],
    ['update', 'PATCH', '/settings', { project_color: 'red' }, ['administrator']],
    ['update', 'PATCH', '/settings', { auth_password_policy: '^.{15}' }, ['administrator']],
    [
      'an unreadable field in the response',
      'PATCH',
      '/settings?fields=project_color',
      { project_name: 'Y' },
      ['administrator'],
    ],
    ['an unreadable field in the response', 'PATCH', '/settings?fields=nothing', { project_name: 'Z' }, []],
  ];
  for (const [what, method, url, payload, granted] of cells) {
    // Callers who are rejected come first: once an update has been written, repeating it would change nothing.
    const isGranted = (who: Who) => granted.includes(who);
    const order = (Object.keys(everybody) as Who[]).sort((a, b) => Number(isGranted(a)) - Number(isGranted(b)));
    for (const who of order) {
      const { headers } = everybody[who];
      // Other tests cover deletion by an administrator, which would leave no items for the requests below.
      if (method === 'DELETE' && who === 'administrator') continue;
      const ask = async () => {
        const { statusCode, body } = await request({ method, url, headers, ...(payload ? { payload } : {}) });
        t.ok(
          isGranted(who) ? [200, 204].includes(statusCode) : statusCode === 403,
          `${who}: ${what}: ${method} ${url} ${JSON.stringify(payload)}: ${statusCode} ${body}`,
        );
      };
      if (isGranted(who)) await ask();
      else await assertUnchanged(t, app, `${who}: ${what}: ${method} ${url}`, ask);
    }
  }
  const read = async (who: Who, url: string) =>
    (await request({ method: 'GET', url, headers: everybody[who].headers })).json();
  t.strictSame(await read('reader', '/roles?fields=id&meta=*'), {
    data: [{ id: keptRole }],
    meta: { total_count: 1, filter_count: 1 },
  });
  t.strictSame((await read('reader', '/policies?fields=id')).data, [{ id: keptPolicy }]);
  t.strictSame(Object.keys((await read('lister', '/settings')).data).sort(), ['auth_password_policy', 'project_name']);
  for (const role of (await read('lister', '/roles')).data) t.strictSame(Object.keys(role).sort(), ['id', 'name']);
  t.ok((await app.db.select().from(users)).some(({ email }) => email === administrator.email));
});
