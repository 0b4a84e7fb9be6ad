import { eq } from 'drizzle-orm';
import t from 'tap';
import { permissions, policies, rolePolicies, roles, userPolicies, users } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { assertUnchanged, createPolicy, createRole, policyWith, setPublicPolicy } from '../helpers/users/rights.js';
import { logIn, logOut, modes, refresh } from '../helpers/users/sessions.js';
import { changeUser, createUser, createUserWithToken } from '../helpers/users/users.js';

const service = await startTestApp(t, { TRUST_PROXY: 'true' });
const { app, request, get } = service;

type Permission = Parameters<typeof policyWith>[1][number];
const readUsers = (more: Partial<Permission> = {}): Permission => ({
  collection: 'users',
  action: 'read',
  fields: ['*'],
  ...more,
});
const plainRole = await createRole(app);

/** The ids of the users that a caller can see, or null if the caller cannot read users at all. */
async function seen(headers: Record<string, string>, path = '/users?fields=id', ask: TestApp['request'] = request) {
  const response = await ask({ method: 'GET', url: path, headers });
  if (response.statusCode === 403) return null;
  return response.json().data.map(({ id }: { id: string }) => id);
}

t.test(
  'enforce_tfa: until a second factor is set up, only login, logout, refresh and /users/me are available',
  async (t) => {
    const strict = await policyWith(app, [readUsers()], { enforceTfa: true, appAccess: true });
    const role = await createRole(app, { parent: await createRole(app, { policies: [strict] }) });
    const closed = [
      ['GET', '/users'],
      ['SEARCH', '/users'],
      ['POST', '/users'],
      ['PATCH', '/users'],
      ['DELETE', '/users'],
      ['PATCH', '/users/me'],
      ['PATCH', '/users/me/track/page'],
      ['GET', `/users/${crypto.randomUUID()}`],
      ['GET', '/roles'],
      ['GET', '/roles/me'],
      ['GET', '/policies'],
      ['GET', '/policies/me/globals'],
      ['GET', '/permissions'],
      ['GET', '/permissions/me'],
      ['GET', '/settings'],
      ['PATCH', '/settings'],
      ['GET', '/server/info'],
      ['GET', '/server/ping'],
      ['GET', '/server/health'],
    ] as const;
    const check = async (headers: Record<string, string>, what: string) => {
      await assertUnchanged(t, app, what, async () => {
        for (const [method, url] of closed) {
          const payload = method === 'GET' ? {} : { payload: { last_page: '/x' } };
          const { statusCode } = await request({ method, url, headers, ...payload });
          t.equal(statusCode, 403, `${what}: ${method} ${url}`);
        }
      });
      t.equal((await get('/users/me?fields=email', headers)).statusCode, 200, what);
    };
    for (const mode of modes) {
      const user = await createUser(app, { role });
      const session = await logIn(service, mode, user);
      await check(session.headers, mode);
      const next = await refresh(service, session);
      t.equal(next.statusCode, 200, `${mode} refresh`);
      t.equal((await logOut(service, await logIn(service, mode, user))).statusCode, 204, `${mode} logout`);
      await changeUser(app, user.id, { tfaSecret: 'sealed' });
      if (mode === 'session')
        t.equal((await get('/users', session.headers)).statusCode, 200, 'then all routes are available');
    }
    const token = await createUserWithToken(app, { role });
    await check(token.headers, 'static token');
    await changeUser(app, token.id, { tfaSecret: 'sealed' });
    t.equal((await get('/users', token.headers)).statusCode, 200);
  },
);

t.test('ip_access applies to the address of the client, as reported by a trusted proxy', async (t) => {
  const cases: [ranges: string[], inside: string[], outside: string[]][] = [
    [['192.0.2.7'], ['192.0.2.7', '::ffff:192.0.2.7', '::FFFF:C000:0207'], ['192.0.2.8', '::192.0.2.7', 'unknown', '']],
    [
      ['192.0.2.0/24', '10.0.0.0/8'],
      ['192.0.2.255', '10.255.0.1', '::ffff:10.1.2.3'],
      ['192.0.3.0', '11.0.0.0'],
    ],
    [['2001:db8::/32'], ['2001:db8::1', '2001:DB8:ffff::'], ['2001:db9::', '32.1.13.184', '192.0.2.7']],
    [['::ffff:192.0.2.0/120'], ['::ffff:192.0.2.9', '192.0.2.9'], ['192.0.3.9', '2001:db8::1']],
    [['0.0.0.0/0'], ['8.8.8.8', '::ffff:8.8.8.8'], ['2001:db8::1']],
    [[], [], ['127.0.0.1', '::1', '0.0.0.0']],
  ];
  for (const [ipAccess, inside, outside] of cases) {
    const policy = await policyWith(app, [readUsers()], { ipAccess });
    const { headers } = await createUserWithToken(app, { policies: [policy], role: plainRole });
    for (const ip of [...inside, ...outside]) {
      const { statusCode } = await get('/users', { ...headers, 'x-forwarded-for': ip });
      // An empty header is ignored. The address of the connection applies instead, and is not in the range either.
      t.equal(statusCode, inside.includes(ip) ? 200 : 403, `${ip} of ${ipAccess}`);
    }
    await setPublicPolicy(app, policy);
    for (const ip of inside) t.equal((await get('/users', { 'x-forwarded-for': ip })).statusCode, 200, `public ${ip}`);
    for (const ip of outside) t.equal((await get('/users', { 'x-forwarded-for': ip })).statusCode, 403, `public ${ip}`);
    await setPublicPolicy(app, null);
  }
  const distrustful = await startTestApp(t);
  const policy = await policyWith(distrustful.app, [readUsers()], { ipAccess: ['192.0.2.7'] });
  const { headers } = await createUserWithToken(distrustful.app, { policies: [policy] });
  const forged = { ...headers, 'x-forwarded-for': '192.0.2.7', 'x-real-ip': '192.0.2.7', forwarded: 'for=192.0.2.7' };
  t.equal((await distrustful.get('/users', forged)).statusCode, 403, 'a header from an untrusted sender');
  const ask = { method: 'GET', url: '/users', headers, remoteAddress: '192.0.2.7' } as const;
  t.equal((await distrustful.request(ask)).statusCode, 200, 'the address of the connection');
});

t.test('a rule with a variable that has no value matches nothing (CVE-2024-39701)', async (t) => {
  const rules: Record<string, unknown>[] = [
    { id: { _eq: '$CURRENT_USER' } },
    { id: { _neq: '$CURRENT_USER' } },
    { id: { _nin: ['$CURRENT_USER'] } },
    { role: { _eq: '$CURRENT_ROLE' } },
    { role: { _neq: '$CURRENT_ROLE' } },
    { role: { _in: '$CURRENT_ROLES' } },
    { role: { _in: ['$CURRENT_ROLES'] } },
    { role: { _nin: '$CURRENT_ROLES' } },
    { role: { users: { _none: { id: { _eq: '$CURRENT_USER' } } } } },
    { policies: { _none: { users: { id: { _eq: '$CURRENT_USER' } } } } },
    { policies: { _none: { roles: { id: { _in: '$CURRENT_ROLES' } } } } },
    { role: { _in: [] } },
    { role: { _in: '' } },
    { _or: [{ id: { _eq: '$CURRENT_USER' } }] },
    { _and: [{ status: { _eq: 'active' } }, { id: { _neq: '$CURRENT_USER' } }] },
  ];
  for (const rule of rules) {
    const policy = await policyWith(app, [readUsers({ permissions: rule })]);
    await setPublicPolicy(app, policy);
    t.strictSame(await seen({}), [], JSON.stringify(rule));
    await setPublicPolicy(app, null);
  }
});

t.test('variables in rules are replaced by their values (CVE-2025-67717)', async (t) => {
  const above = await createRole(app);
  const role = await createRole(app, { parent: above });
  const [mate, boss, stranger] = [
    await createUser(app, { role, lastAccess: new Date(Date.now() - 3_600_000) }),
    await createUser(app, { role: above, lastAccess: new Date(Date.now() - 3 * 86_400_000) }),
    await createUser(app, { lastAccess: null }),
  ];
  const cases: [Record<string, unknown>, (me: string, policy: string) => string[]][] = [
    [{ id: { _eq: '$CURRENT_USER' } }, (me) => [me]],
    [{ id: '$CURRENT_USER' }, (me) => [me]],
    [{ role: { _eq: '$CURRENT_ROLE' } }, (me) => [me, mate.id]],
    [{ role: { _in: '$CURRENT_ROLES' } }, (me) => [me, mate.id, boss.id]],
    [{ role: { _in: ['$CURRENT_ROLES'] } }, (me) => [me, mate.id, boss.id]],
    [{ policies: { id: { _in: '$CURRENT_POLICIES' } } }, (me) => [me]],
    [{ _and: [{ role: { _in: '$CURRENT_ROLES' } }, { last_access: { _lt: '$NOW(-1 day)' } }] }, () => [boss.id]],
    [
      {
        _and: [
          { role: { _in: '$CURRENT_ROLES' } },
          { last_access: { _lt: '$NOW' } },
          { id: { _neq: '$CURRENT_USER' } },
        ],
      },
      () => [mate.id, boss.id],
    ],
  ];
  for (const [rule, expected] of cases) {
    const policy = await policyWith(app, [readUsers({ permissions: rule })]);
    const me = await createUserWithToken(app, { role, policies: [policy] });
    t.strictSame([...(await seen(me.headers))].sort(), expected(me.id, policy).sort(), JSON.stringify(rule));
    const counted = await get('/users?limit=0&meta=*', me.headers);
    const count = expected(me.id, policy).length;
    t.strictSame(counted.json().meta, { total_count: count, filter_count: count }, 'meta counts only visible items');
    t.equal((await get(`/users/${stranger.id}`, me.headers)).statusCode, 403);
    await app.db.delete(users).where(eq(users.id, me.id));
  }
});

t.test('an invalid rule grants nothing for any action', async (t) => {
  const target = await createUser(app);
  const broken: Record<string, unknown>[] = [
    { no_such_field: { _eq: 1 } },
    { email: { _no_such: 'x' } },
    { password: { _nnull: true } },
    { id: { _eq: 'not a UUID' } },
    { _or: {}, _and: 'x' },
    { email: { _regex: '.*' } },
    { last_access: { _lt: '$NOW(when pigs fly)' } },
    { role: { no_such_field: { _null: true } } },
  ];
  for (const rule of broken) {
    const fields = ['email', 'password', 'title'];
    for (const place of ['permissions', 'validation'] as const) {
      const policy = await policyWith(app, [
        readUsers({ permissions: rule }),
        { collection: 'users', action: 'create', fields, [place]: rule },
        { collection: 'users', action: 'update', fields, [place]: rule },
        { collection: 'users', action: 'delete', permissions: rule },
        { collection: 'settings', action: 'read', fields: ['*'], [place]: rule },
        { collection: 'settings', action: 'update', fields: ['*'], [place]: rule },
      ]);
      const { headers } = await createUserWithToken(app, { policies: [policy], role: plainRole });
      const what = `${place} ${JSON.stringify(rule)}`;
      t.strictSame(await seen(headers), [], what);
      await assertUnchanged(t, app, what, async () => {
        const status = place === 'permissions' ? 403 : 400;
        const email = `${crypto.randomUUID()}@example.com`;
        const ask = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload: object) =>
          (await request({ method, url, headers, payload })).statusCode;
        t.equal(await ask('POST', '/users', { email, password: 'a password of some length' }), status, what);
        t.equal(await ask('PATCH', `/users/${target.id}`, { title: 'x' }), status, what);
        t.equal(await ask('DELETE', `/users/${target.id}`, {}), 403, what);
        t.equal(await ask('PATCH', '/settings', { project_name: 'x' }), 403, what);
        t.equal((await get('/settings', headers)).statusCode, 403, what);
      });
    }
  }
});

t.test(
  'validation applies to the whole row after the write, using the permission that allowed the write',
  async (t) => {
    const isDraft = { status: { _eq: 'draft' } };
    const policy = await policyWith(app, [
      {
        collection: 'users',
        action: 'update',
        fields: ['title', 'status'],
        permissions: { first_name: { _eq: 'red' } },
        validation: isDraft,
      },
      // A second permission, for other items, has no validation. It does not affect the red users.
      {
        collection: 'users',
        action: 'update',
        fields: ['title', 'status'],
        permissions: { first_name: { _eq: 'blue' } },
      },
      {
        collection: 'users',
        action: 'create',
        fields: ['*'],
        validation: isDraft,
        permissions: { title: { _nnull: true } },
        presets: { title: 'preset', status: 'draft' },
      },
    ]);
    const { headers } = await createUserWithToken(app, { policies: [policy], role: plainRole });
    const patch = async (user: { id: string }, payload: object) =>
      (await request({ method: 'PATCH', url: `/users/${user.id}`, headers, payload })).statusCode;
    const [active, draft, blue] = [
      await createUser(app, { firstName: 'red' }),
      await createUser(app, { firstName: 'red', status: 'draft' }),
      await createUser(app, { firstName: 'blue' }),
    ];
    await assertUnchanged(t, app, 'validation', async () => {
      t.equal(await patch(active, { title: 'x' }), 400, 'the invalid field is not part of the update');
      t.equal(await patch(draft, { status: 'archived' }), 400);
      const many = { keys: [draft.id, active.id], data: { title: 'x' } };
      t.equal(
        (await request({ method: 'PATCH', url: '/users', headers, payload: many })).statusCode,
        400,
        'all or none',
      );
    });
    t.equal(await patch(draft, { title: 'x' }), 204);
    t.equal(await patch(active, { title: 'x', status: 'draft' }), 204);
    t.equal(await patch(blue, { title: 'x', status: 'archived' }), 204);

    const email = `${crypto.randomUUID()}@example.com`;
    const create = async (payload: object) =>
      (await request({ method: 'POST', url: '/users', headers, payload })).statusCode;
    await assertUnchanged(t, app, 'creation', async () => {
      t.equal(await create({ email, status: 'active' }), 400, 'the payload overrides the preset, and fails');
      t.equal(await create({ email, title: null }), 403, 'the rule of the permission also applies to new items');
    });
    t.equal(await create({ email }), 204);
    const [made] = await app.db.select().from(users).where(eq(users.email, email));
    t.match(made, { title: 'preset', status: 'draft' });
  },
);

t.test('the error of a failed validation says what is required', async (t) => {
  const target = await createUser(app, { role: await createRole(app) });
  const cases: [rule: Record<string, unknown>, payload: object, says: object][] = [
    [{ title: { _eq: 'a' } }, { title: 'b' }, { field: 'title', path: [], type: 'eq', valid: 'a' }],
    [{ title: { _neq: 'b' } }, { title: 'b' }, { field: 'title', path: [], type: 'neq', invalid: 'b' }],
    [{ title: { _in: ['a', 'c'] } }, { title: 'b' }, { field: 'title', path: [], type: 'in', valid: ['a', 'c'] }],
    [{ title: { _nin: ['a', 'b'] } }, { title: 'b' }, { field: 'title', path: [], type: 'nin', invalid: ['a', 'b'] }],
    [{ title: { _contains: 'a' } }, { title: 'b' }, { field: 'title', path: [], type: 'contains', substring: 'a' }],
    [
      { title: { _nstarts_with: 'b' } },
      { title: 'b' },
      { field: 'title', path: [], type: 'nstarts_with', substring: 'b' },
    ],
    [{ title: { _null: true } }, { title: 'b' }, { field: 'title', path: [], type: 'null' }],
    [
      { _and: [{ title: { _nempty: true } }, { location: { _eq: 'a' } }] },
      { title: 'b', location: 'b' },
      { field: 'location', path: [], type: 'eq', valid: 'a' },
    ],
    [
      { _or: [{ title: { _eq: 'a' } }, { title: { _eq: 'c' } }] },
      { title: 'b' },
      { field: 'title', path: [], type: 'eq', valid: 'a' },
    ],
    [{ role: { name: { _eq: 'a' } } }, { title: 'b' }, { field: 'name', path: ['role'], type: 'eq', valid: 'a' }],
    [{ token: { _eq: 'a secret' } }, { title: 'b' }, { field: 'token', path: [], type: 'eq' }],
  ];
  for (const [validation, payload, says] of cases) {
    const policy = await policyWith(app, [{ collection: 'users', action: 'update', fields: ['*'], validation }]);
    const { headers } = await createUserWithToken(app, { policies: [policy] });
    const response = await request({ method: 'PATCH', url: `/users/${target.id}`, headers, payload });
    t.equal(response.statusCode, 400);
    t.strictSame(response.json().errors[0].extensions, { code: 'FAILED_VALIDATION', ...says });
  }
});

t.test('a relation is visible only to callers who may read the related item', async (t) => {
  const [shown, hiddenRole] = [await createRole(app), await createRole(app)];
  const [one, two] = [await createUser(app, { role: shown }), await createUser(app, { role: hiddenRole })];
  const names = new Map((await app.db.select().from(roles)).map(({ id, name }) => [id, name]));
  const filter = (value: object) => `/users?fields=id&filter=${encodeURIComponent(JSON.stringify(value))}`;
  const without = await createUserWithToken(app, { policies: [await policyWith(app, [readUsers()])], role: plainRole });
  for (const path of [
    filter({ role: { name: { _eq: names.get(shown) } } }),
    filter({ policies: { name: { _nnull: true } } }),
    '/users?sort=role.name',
    '/users?fields=role.name',
    '/users?fields=policies.name',
  ]) {
    t.equal(await seen(without.headers, path), null, path);
  }
  const rule = { id: { _in: [shown] } };
  const within = await createUserWithToken(app, {
    policies: [
      await policyWith(app, [
        readUsers(),
        { collection: 'roles', action: 'read', fields: ['name'], permissions: rule },
      ]),
    ],
    role: plainRole,
  });
  t.strictSame(await seen(within.headers, filter({ role: { name: { _eq: names.get(shown) } } })), [one.id]);
  t.strictSame(await seen(within.headers, filter({ role: { name: { _eq: names.get(hiddenRole) } } })), []);
  t.equal(await seen(within.headers, filter({ role: { icon: { _null: true } } })), null, 'a field that is not granted');
  const read = await get(`/users?fields=role.name&filter[id][_in]=${one.id},${two.id}`, within.headers);
  t.strictSame(
    new Set(read.json().data.map((user: object) => JSON.stringify(user))),
    new Set([JSON.stringify({ role: { name: names.get(shown) } }), '{"role":null}']),
  );
});

t.test('every change of rights takes effect with the next request, on every instance', async (t) => {
  const second = engine === 'postgres' ? await startTestApp(t, {}, { database: service.database.location }) : service;
  const policy = await policyWith(app, [readUsers()]);
  const [parent, role] = [await createRole(app), await createRole(app)];
  const user = await createUser(app, { role });
  const session = await logIn(service, 'json', user);
  const both = async (may: boolean, what: string) => {
    for (const [index, { get }] of [service, second].entries()) {
      t.equal((await get('/users', session.headers)).statusCode, may ? 200 : 403, `${what}, instance ${index + 1}`);
    }
  };
  const { db } = app;
  const steps: [string, boolean, () => Promise<unknown>][] = [
    ['no rights at first', false, async () => {}],
    ['a policy of the user', true, () => db.insert(userPolicies).values({ user: user.id, policy })],
    ['removed', false, () => db.delete(userPolicies).where(eq(userPolicies.user, user.id))],
    ['a policy of the role', true, () => db.insert(rolePolicies).values({ role, policy })],
    ['removed', false, () => db.delete(rolePolicies).where(eq(rolePolicies.role, role))],
    [
      'a policy of a role that is not yet the parent',
      false,
      () => db.insert(rolePolicies).values({ role: parent, policy }),
    ],
    ['a parent', true, () => db.update(roles).set({ parent }).where(eq(roles.id, role))],
    [
      'an address',
      false,
      () =>
        db
          .update(policies)
          .set({ ipAccess: ['192.0.2.7'] })
          .where(eq(policies.id, policy)),
    ],
    ['anywhere', true, () => db.update(policies).set({ ipAccess: null }).where(eq(policies.id, policy))],
    ['TFA required', false, () => db.update(policies).set({ enforceTfa: true }).where(eq(policies.id, policy))],
    ['TFA set up', true, () => changeUser(app, user.id, { tfaSecret: 'sealed' })],
    [
      'another action',
      false,
      () => db.update(permissions).set({ action: 'delete' }).where(eq(permissions.policy, policy)),
    ],
    ['admin access', true, () => db.update(policies).set({ adminAccess: true }).where(eq(policies.id, policy))],
    ['removed', false, () => db.update(policies).set({ adminAccess: false }).where(eq(policies.id, policy))],
    ['reading again', true, () => db.update(permissions).set({ action: 'read' }).where(eq(permissions.policy, policy))],
    ['another role', false, () => changeUser(app, user.id, { role: plainRole })],
    ['no role', false, () => changeUser(app, user.id, { role: null })],
    ['the public policy', true, () => setPublicPolicy(app, policy)],
    ['no longer public', false, () => setPublicPolicy(app, null)],
    ['the role with the policy', true, () => changeUser(app, user.id, { role: parent })],
    ['the policy deleted', false, () => db.delete(policies).where(eq(policies.id, policy))],
  ];
  for (const [what, may, change] of steps) {
    await change();
    await both(may, what);
  }
});

t.test('a permission that names no existing field reveals nothing, not even keys', async (t) => {
  for (const fields of [[], ['password'], ['no_such_field'], ['token_hash']]) {
    const policy = await policyWith(app, [readUsers({ fields })]);
    const { headers } = await createUserWithToken(app, { policies: [policy], role: plainRole });
    t.equal(await seen(headers, '/users'), null, JSON.stringify(fields));
  }
  t.ok(await createPolicy(app));
});
