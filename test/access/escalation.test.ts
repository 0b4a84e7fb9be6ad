// @suite not-everyday: tries hundreds of cases

import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { permissions, policies, settings } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { mailsTo } from '../helpers/mail/mails.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import {
  actions,
  assertUnchanged,
  collections,
  createPolicy,
  createRole,
  everyPermission,
  policyWith,
  rightsOfEverybody,
  setPublicPolicy,
} from '../helpers/users/rights.js';
import { logIn, openSession } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken, storedUser } from '../helpers/users/users.js';

type Method = 'POST' | 'PATCH' | 'DELETE';

const service = await startTestApp(t);
const { app, request, get } = service;

const adminPolicy = await createPolicy(app, { adminAccess: true, appAccess: true });
const adminRole = await createRole(app, { policies: [adminPolicy] });
const belowAdmin = await createRole(app, { parent: adminRole });
const everything = await policyWith(app, everyPermission);
const strongPolicy = await policyWith(app, [
  { collection: 'users', action: 'update', fields: ['*'] },
  { collection: 'settings', action: 'update', fields: ['*'], presets: {} },
]);
const strongRole = await createRole(app, { policies: [strongPolicy] });
const plainRole = await createRole(app);

const chief = await createUserWithToken(app, { role: adminRole });
const heir = await createUserWithToken(app, { role: belowAdmin });
const strong = await createUserWithToken(app, { role: strongRole });
const sleeping = await createUserWithToken(app, { role: strongRole, status: 'suspended' });
const plain = await createUserWithToken(app, { role: plainRole });

const own = { id: { _eq: '$CURRENT_USER' } };
const ownRow = await policyWith(app, [
  { collection: 'users', action: 'read', fields: ['*'], permissions: own },
  { collection: 'users', action: 'update', fields: ['*'], permissions: own },
]);
const usersOnly = await policyWith(
  app,
  actions.map((action) => ({ collection: 'users', action, fields: ['*'] })),
);

const callers = {
  'all but admin access': await createUserWithToken(app, { role: await createRole(app, { policies: [everything] }) }),
  'user manager': await createUserWithToken(app, { role: await createRole(app, { policies: [usersOnly] }) }),
  'own row': await createUserWithToken(app, { policies: [ownRow], role: plainRole }),
  'app user': await createUserWithToken(app, {
    role: await createRole(app, { policies: [await createPolicy(app, { appAccess: true })] }),
  }),
  'no rights': await createUserWithToken(app, { role: plainRole }),
  'without a role': await createUserWithToken(app),
  nobody: { id: '', headers: {} as Record<string, string> },
};

/** Every field of a user, and every other field that an attacker might try, with the most harmful values. */
const hostile: [string, unknown][] = [
  ['role', adminRole],
  ['role', belowAdmin],
  ['role', null],
  ['role', { id: adminRole }],
  ['role', { id: plainRole, policies: [adminPolicy] }],
  ['role', { name: 'Made on the way', policies: [adminPolicy] }],
  ['policies', [adminPolicy]],
  ['policies', []],
  ['policies', [{ id: adminPolicy }]],
  ['policies', [{ policy: adminPolicy }]],
  ['policies', [{ id: everything, admin_access: true }]],
  ['policies', { create: [{ policy: adminPolicy }], update: [], delete: [] }],
  ['provider', 'github'],
  ['external_identifier', 'the administrator'],
  ['token', 'a-token-that-the-caller-knows-and-is-long'],
  ['token_hash', 'a'.repeat(64)],
  ['tokenHash', 'a'.repeat(64)],
  ['password_hash', 'x'],
  ['tfa_secret', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
  ['tfa_secret', null],
  ['tfa_last_step', 0],
  ['tfaLastStep', 0],
  ['admin_access', true],
  ['app_access', true],
  ['admin', true],
  ['sessions', []],
  ['userId', chief.id],
  ['user', chief.id],
  ['$role', adminRole],
  ['role.id', adminRole],
  ['role.policies', [adminPolicy]],
  ['Role', adminRole],
];

/**
 * Fields that give access to an account. A caller may change them only for users whose rights do not exceed the
 * caller’s own.
 */
const ways: [string, unknown][] = [
  ['password', 'a password that the caller knows'],
  ['email', 'an-address@of-the-caller.example'],
  ['status', 'active'],
  ['status', 'invited'],
  ['status', 'unverified'],
];

let made = 0;
const newEmail = () => `made-${++made}@example.com`;

/** Every way to create a user with the given fields. */
const creations = (body: object): [Method, string, object][] => {
  const item = () => ({ email: newEmail(), password: 'the password of one who is made', ...body });
  return [
    ['POST', '/users', item()],
    ['POST', '/users', [item()]],
    ['POST', '/users', { data: [item()] }],
    ['POST', '/users', [{ email: newEmail(), password: 'the password of one who is made' }, item()]],
  ];
};

/** Every way to update a user. */
const updates = (id: string, data: object): [Method, string, object][] => [
  ['PATCH', `/users/${id}`, data],
  ['PATCH', '/users', { keys: [id], data }],
  ['PATCH', '/users', { query: { filter: { id: { _eq: id } } }, data }],
  ['PATCH', '/users', [{ id, ...data }]],
];

/** What must not change: the rights of all users, and the credentials of the powerful ones. */
async function standing() {
  const rights = await rightsOfEverybody(app);
  const credentials = [];
  for (const { id } of [chief, heir, strong, sleeping]) {
    const { password, email, tokenHash, provider, externalIdentifier, status, tfaSecret } = await storedUser(app, id);
    credentials.push({ password, email, tokenHash, provider, externalIdentifier, status, tfaSecret });
  }
  const [project] = await app.db.select().from(settings);
  return { rights, credentials, project };
}

/** Sends requests one by one. Each one must be rejected or select nothing, and must change nothing. */
const areRefused = (
  t: Test,
  who: string,
  headers: Record<string, string>,
  what: string,
  requests: [Method, string, object][],
) =>
  assertUnchanged(t, app, `${who}: ${what}`, async () => {
    for (const [method, url, payload] of requests) {
      const { statusCode, body } = await request({ method, url, headers, payload });
      // A query that matches no row that the caller may write is not an error. It writes nothing.
      const isNothing = statusCode === 200 && 'query' in payload && body === '{"data":[]}';
      if (!isNothing && (statusCode < 400 || statusCode >= 500)) {
        t.fail(`${who}: ${what}: ${method} ${url} ${JSON.stringify(payload)} returns ${statusCode} ${body}`);
      }
    }
  });

t.test(
  'only an administrator can write a hostile value to any column, on any of the routes that write users',
  async (t) => {
    const before = await standing();
    for (const [who, caller] of Object.entries(callers)) {
      // These callers have fewer rights than another caller in the list, so testing them adds nothing.
      if (['user manager', 'app user', 'without a role'].includes(who)) continue;
      const writesUsers = who === 'all but admin access' || who === 'own row';
      const targets = writesUsers ? [plain.id, chief.id, caller.id] : [plain.id];
      const requests = hostile.flatMap(([field, value]): [Method, string, object][] => {
        const data = { [field]: value };
        const those = targets.filter((id) => field !== 'token' || id !== caller.id);
        const me: [Method, string, object][] = field === 'token' ? [] : [['PATCH', '/users/me', data]];
        return [...creations(data).slice(0, 3), ...those.flatMap((id) => updates(id, data)), ...me];
      });
      await areRefused(t, who, caller.headers, 'a hostile field', requests);
    }
    t.strictSame(await standing(), before);
  },
);

t.test(
  'no caller can take over the account of a user who has rights that the caller lacks (CVE-2026-55077)',
  async (t) => {
    const before = await standing();
    const manager = callers['user manager'].headers;
    for (const [field, value] of ways) {
      const data = { [field]: value };
      for (const who of ['all but admin access', 'own row', 'nobody'] as const) {
        const requests = [chief, heir].flatMap(({ id }) => updates(id, data));
        await areRefused(t, who, callers[who].headers, field, requests);
      }
      for (const { id } of [strong, sleeping]) await areRefused(t, 'user manager', manager, field, updates(id, data));
      await areRefused(t, 'user manager', manager, `${field} of several users`, [
        ['PATCH', '/users', { keys: [plain.id, strong.id], data: { status: 'active' } }],
        [
          'PATCH',
          '/users',
          [
            { id: plain.id, title: 'x' },
            { id: strong.id, ...data },
          ],
        ],
        ['PATCH', '/users', { query: {}, data: { status: 'active' } }],
      ]);
    }
    t.strictSame((await standing()).credentials, before.credentials);

    t.test('a caller can change the account of a user whose rights are a subset of their own', async (t) => {
      const rest = [
        { collection: 'users', action: 'read', fields: ['id', 'email'] },
        { collection: 'users', action: 'update', fields: ['*'], permissions: own },
      ] as const;
      const fewer = await createUser(app, {
        policies: [
          await policyWith(
            app,
            rest.map((one) => ({ ...one, fields: [...one.fields] })),
            { appAccess: true },
          ),
        ],
      });
      for (const { id } of [plain, fewer]) {
        for (const data of [
          { password: 'a password that was forgotten' },
          { email: newEmail() },
          { status: 'active' },
        ]) {
          t.equal(
            (await request({ method: 'PATCH', url: `/users/${id}`, headers: manager, payload: data })).statusCode,
            200,
          );
        }
      }
    });

    t.test('rules are compared after their variables are resolved', async (t) => {
      const sameTeam = { role: { _eq: '$CURRENT_ROLE' } };
      const leads = await policyWith(app, [
        { collection: 'users', action: 'read', fields: ['*'] },
        { collection: 'users', action: 'update', fields: ['password', 'status', 'email'], permissions: {} },
        { collection: 'users', action: 'delete', permissions: sameTeam },
      ]);
      const [one, two] = [await createRole(app, { policies: [leads] }), await createRole(app, { policies: [leads] })];
      const lead = await createUserWithToken(app, { role: one });
      const [mate, other] = [await createUser(app, { role: one }), await createUser(app, { role: two })];
      const payload = { password: 'a password that the lead knows' };
      const headers = await openSession(app, lead.id);
      const reset = async (id: string) =>
        (await request({ method: 'PATCH', url: `/users/${id}`, headers, payload })).statusCode;
      t.equal(await reset(mate.id), 200, 'the same rule for the same role grants the same right');
      t.equal(await reset(other.id), 403, 'the same rule for another role grants another right');
      t.equal(await reset(lead.id), 200, 'users can change their own password');
    });

    t.test('a narrower field list, rule or validation is not sufficient', async (t) => {
      const wide = await policyWith(app, [{ collection: 'roles', action: 'update', fields: ['name', 'icon'] }]);
      const target = await createUser(app, { policies: [wide] });
      const reset = { collection: 'users', action: 'update', fields: ['password'] } as const;
      const cases: [number, Parameters<typeof policyWith>[1][number] | null][] = [
        [403, null],
        [403, { collection: 'roles', action: 'update', fields: ['name'] }],
        [403, { collection: 'roles', action: 'read', fields: ['*'] }],
        [403, { collection: 'roles', action: 'update', fields: ['*'], permissions: { name: { _eq: 'x' } } }],
        [403, { collection: 'roles', action: 'update', fields: ['*'], validation: { name: { _eq: 'x' } } }],
        [204, { collection: 'roles', action: 'update', fields: ['name', 'icon'] }],
        [204, { collection: 'roles', action: 'update', fields: ['*'] }],
      ];
      for (const [status, granted] of cases) {
        const policy = await policyWith(app, [{ ...reset, fields: ['password'] }, ...(granted ? [granted] : [])]);
        const caller = await createUserWithToken(app, { policies: [policy], role: plainRole });
        const payload = { password: 'a password that the caller knows' };
        const { statusCode } = await request({
          method: 'PATCH',
          url: `/users/${target.id}`,
          headers: caller.headers,
          payload,
        });
        t.equal(statusCode, status, JSON.stringify(granted));
      }
    });

    t.test('a permission is sufficient to suspend and delete users who have more rights', async (t) => {
      const target = await createUser(app, { role: strongRole });
      const payload = { status: 'suspended' };
      const url = `/users/${target.id}`;
      t.equal((await request({ method: 'PATCH', url, headers: manager, payload })).statusCode, 200);
      t.equal(
        (await request({ method: 'PATCH', url, headers: manager, payload: { status: 'active' } })).statusCode,
        403,
      );
      t.equal((await request({ method: 'DELETE', url, headers: manager })).statusCode, 204);
    });
  },
);

t.test('a support desk cannot take over an account by inviting its user again', async (t) => {
  const policy = await policyWith(app, [
    { collection: 'users', action: 'read', fields: ['*'] },
    { collection: 'users', action: 'create', fields: ['email', 'role', 'status'] },
    { collection: 'users', action: 'update', fields: ['status', 'password'] },
  ]);
  const desk = await createUserWithToken(app, { role: await createRole(app, { policies: [policy] }) });
  const invite = (email: string | string[], role: string, headers = desk.headers) =>
    service.post('/users/invite', { email, role }, headers);
  const password = 'a password that the desk knows';

  t.test('the desk cannot change the status of an active user with more rights to invited', async (t) => {
    const richer = await createUser(app, { role: strongRole });
    for (const status of ['invited', 'unverified', 'active']) {
      await areRefused(t, 'desk', desk.headers, status, updates(richer.id, { status }));
    }
    t.equal((await invite(richer.email, plainRole)).statusCode, 204);
    t.match(await storedUser(app, richer.id), { status: 'active', role: strongRole });
    await areRefused(t, 'desk', desk.headers, 'password', updates(richer.id, { password, status: 'active' }));
  });

  t.test('the desk cannot reactivate or invite a suspended user with more rights', async (t) => {
    const richer = await createUser(app, { role: strongRole });
    for (const status of ['suspended', 'archived', 'draft']) {
      const url = `/users/${richer.id}`;
      const { statusCode } = await request({ method: 'PATCH', url, headers: desk.headers, payload: { status } });
      t.equal(statusCode, 200, status);
      for (const next of ['invited', 'unverified', 'active']) {
        await areRefused(t, 'desk', desk.headers, `${status}, then ${next}`, updates(richer.id, { status: next }));
      }
      t.equal((await invite(richer.email, plainRole)).statusCode, 204);
      t.match(await storedUser(app, richer.id), { status, role: strongRole });
    }
    t.strictSame(await mailsTo(app, richer.email), [], 'no email was sent');
  });

  t.test('the invitation of a user with more rights stays unchanged', async (t) => {
    const own = await policyWith(app, [{ collection: 'settings', action: 'update', fields: ['*'] }]);
    const targets = [
      await createUser(app, { role: adminRole, status: 'invited', password: null }),
      await createUser(app, { role: belowAdmin, status: 'invited', password: null }),
      await createUser(app, { role: strongRole, status: 'invited', password: null }),
      await createUser(app, { role: null, policies: [own], status: 'invited', password: null }),
    ];
    for (const { id, email } of targets) {
      await assertUnchanged(t, app, email, async () => {
        for (const role of [plainRole, strongRole, adminRole]) {
          refused(t, await invite(email, role), 'FORBIDDEN', role);
          refused(t, await invite([newEmail(), email.toUpperCase()], role), 'FORBIDDEN', `${role}, in a list`);
        }
      });
      await areRefused(t, 'desk', desk.headers, 'password', updates(id, { password, status: 'active' }));
      t.strictSame(await mailsTo(app, email), [], 'no email was sent');
    }
  });

  t.test('the desk can invite a user without additional rights again, but cannot change the role', async (t) => {
    const { id, email } = await createUser(app, { role: plainRole, status: 'invited', password: null });
    const other = await createRole(app);
    t.equal((await invite(email, other)).statusCode, 204);
    t.equal((await storedUser(app, id)).role, plainRole, 'the desk does not change the role');
    t.equal((await mailsTo(app, email)).length, 1);
    t.equal((await invite(email, other, chief.headers)).statusCode, 204);
    t.equal((await storedUser(app, id)).role, other, 'an administrator changes the role');
    t.equal((await mailsTo(app, email)).length, 2);
  });
});

t.test('only an administrator can change or delete an administrator, in any form of the request', async (t) => {
  for (const who of ['all but admin access', 'user manager', 'own row', 'nobody'] as const) {
    const { headers } = callers[who];
    for (const { id } of [chief, heir]) {
      await areRefused(t, who, headers, 'an administrator', [
        ...updates(id, { status: 'suspended' }),
        ...updates(id, { title: 'Former administrator' }),
        ['DELETE', `/users/${id}`, {}],
        ['DELETE', '/users', [id]],
        ['DELETE', '/users', [plain.id, id]],
        ['DELETE', '/users', { keys: [id] }],
        ['DELETE', '/users', { query: { filter: { id: { _eq: id } } } }],
        ['DELETE', '/users', { query: {} }],
      ]);
    }
  }
  t.pass();
});

t.test('only administrators can change anything that determines rights, whatever the permissions', async (t) => {
  const before = await standing();
  const { id: permission } = (await app.db.select().from(permissions).where(eq(permissions.policy, ownRow)))[0] ?? {};
  const item = (url: string, id: unknown, data: object): [Method, string, object][] => [
    ['PATCH', `${url}/${id}`, data],
    ['PATCH', url, { keys: [id], data }],
    ['PATCH', url, { query: { filter: { id: { _eq: id } } }, data }],
    ['PATCH', url, [{ id, ...data }]],
  ];
  const requests: [Method, string, object][] = [];
  for (const data of [
    { parent: adminRole },
    { parent: null },
    { parent: { id: adminRole } },
    { policies: [adminPolicy] },
    { policies: [] },
    { policies: [{ id: adminPolicy }] },
    { users: [callers['user manager'].id] },
    { children: [plainRole] },
    { admin_access: true },
  ]) {
    requests.push(['POST', '/roles', { name: 'Made', ...data }], ['POST', '/roles', [{ name: 'Made', ...data }]]);
    requests.push(...item('/roles', plainRole, data));
  }
  for (const data of [
    { admin_access: true },
    { admin_access: false },
    { app_access: true },
    { enforce_tfa: false },
    { ip_access: null },
    { permissions: [{ collection: 'users', action: 'read', fields: ['*'] }] },
    { permissions: [] },
    { users: [callers['user manager'].id] },
    { roles: [plainRole] },
  ]) {
    requests.push(['POST', '/policies', { name: 'Made', ...data }], ['POST', '/policies', [{ name: 'Made', ...data }]]);
    requests.push(...item('/policies', usersOnly, data));
  }
  const granting = { policy: usersOnly, collection: 'policies', action: 'update', fields: ['*'] };
  requests.push(
    ['POST', '/permissions', granting],
    ['POST', '/permissions', [granting]],
    ['POST', '/permissions', { ...granting, policy: '00000000-0000-4000-8000-000000000000' }],
  );
  for (const data of [
    {},
    ...Object.entries({ ...granting, permissions: null, validation: null, presets: {} }).map(([name, value]) => ({
      [name]: value,
    })),
  ]) {
    requests.push(...item('/permissions', permission, data));
  }
  for (const [url, id] of [
    ['/permissions', permission],
    ['/policies', usersOnly],
    ['/roles', plainRole],
  ] as const) {
    requests.push(['DELETE', `${url}/${id}`, {}], ['DELETE', url, [id]], ['DELETE', url, { query: {} }]);
  }
  for (const data of [
    { public_policy: adminPolicy },
    { public_policy: null },
    { public_registration_role: adminRole },
    { auth_password_policy: null },
    { auth_password_policy: '.*' },
    { project_name: 'x', public_policy: adminPolicy },
  ]) {
    requests.push(['PATCH', '/settings', data]);
  }
  for (const who of ['all but admin access', 'own row', 'nobody'] as const) {
    await areRefused(t, who, callers[who].headers, 'rights', requests);
  }
  t.strictSame(await standing(), before);
});

t.test('permissions can grant access to the fields of roles, policies and settings that carry no rights', async (t) => {
  const before = await standing();
  const { headers } = callers['all but admin access'];
  const send = async (method: Method, url: string, payload: object) => {
    const { statusCode, body } = await request({ method, url, headers, payload });
    t.equal(statusCode, 200, `${method} ${url} ${body}`);
  };
  await send('POST', '/roles', { name: 'Harmless', icon: 'x', description: 'y' });
  await send('PATCH', `/roles/${plainRole}`, { name: 'Renamed' });
  await send('POST', '/policies', { name: 'Harmless' });
  await send('PATCH', `/policies/${usersOnly}`, { name: 'Renamed', description: 'y' });
  t.strictSame((await standing()).rights, before.rights);
});

t.test('a new user with a reused id gets none of the former user’s rights (GHSA-8xq9-g7ch-35hg)', async (t) => {
  const gone = await createUser(app, { role: adminRole, policies: [adminPolicy] });
  const session = await logIn(service, 'json', gone);
  t.equal((await request({ method: 'DELETE', url: `/users/${gone.id}`, headers: chief.headers })).statusCode, 204);
  for (const [who, status] of [
    ['user manager', 200],
    ['own row', 403],
  ] as const) {
    const payload = { id: gone.id, email: newEmail(), password: 'a password that the caller knows' };
    const created = await request({ method: 'POST', url: '/users', headers: callers[who].headers, payload });
    t.equal(created.statusCode, status, who);
  }
  const { isAdmin, role, policies } = (await rightsOfEverybody(app)).get(gone.id) ?? {};
  t.strictSame({ isAdmin, role, policies }, { isAdmin: false, role: null, policies: [] });
  t.equal((await get('/users/me', session.headers)).statusCode, 401, 'the former sessions stay invalid');
  for (const id of [chief.id, chief.id.toUpperCase()]) {
    await areRefused(t, 'user manager', callers['user manager'].headers, 'an id in use', creations({ id }));
  }
});

t.test('presets cannot grant rights', async (t) => {
  const before = await rightsOfEverybody(app);
  for (const presets of [
    { role: adminRole },
    { policies: [adminPolicy] },
    { provider: 'github' },
    { external_identifier: 'x' },
    { token: 'a-token-that-the-caller-knows-and-is-long' },
  ]) {
    const policy = await policyWith(app, [{ collection: 'users', action: 'create', fields: ['*'], presets }]);
    const { headers } = await createUserWithToken(app, { policies: [policy], role: plainRole });
    await areRefused(t, 'preset', headers, JSON.stringify(presets), creations({}));
  }
  const policy = await policyWith(app, [
    { collection: 'users', action: 'create', fields: ['email', 'password'], presets: { status: 'draft' } },
  ]);
  const { headers } = await createUserWithToken(app, { policies: [policy], role: plainRole });
  await areRefused(t, 'preset', headers, 'a field that is only preset', creations({ status: 'active' }));
  const after = await rightsOfEverybody(app);
  for (const [id, rights] of before) t.strictSame(after.get(id), rights);
});

t.test('presets cannot contain secrets, because anyone who can read permissions would see them', async (t) => {
  for (const presets of [{ password: 'x' }, { token: 'x' }, { tfa_secret: 'x' }, { title: 'x', token: null }]) {
    const data = { policy: usersOnly, collection: 'users', action: 'create', presets };
    await areRefused(t, 'administrator', chief.headers, JSON.stringify(presets), [['POST', '/permissions', data]]);
  }
  t.pass();
});

t.test('users can suspend themselves but cannot undo it', async (t) => {
  const self = await createUserWithToken(app, { policies: [ownRow], role: plainRole });
  const set = (status: string) =>
    request({ method: 'PATCH', url: '/users/me', headers: self.headers, payload: { status } });
  t.equal((await set('active')).statusCode, 200);
  t.equal((await set('suspended')).statusCode, 200);
  t.equal((await set('active')).statusCode, 401);
  t.equal((await storedUser(app, self.id)).status, 'suspended');
});

t.test('a permission lets users change their own token, but not the token of another user', async (t) => {
  const self = await createUserWithToken(app, { policies: [ownRow, usersOnly], role: plainRole });
  const payload = { token: 'a-token-of-my-own-that-is-long-enough' };
  const session = await openSession(app, self.id);
  t.equal((await request({ method: 'PATCH', url: '/users/me', headers: session, payload })).statusCode, 200);
  t.equal((await get('/users/me', bearer(payload.token))).statusCode, 200);
  t.equal((await get('/users/me', self.headers)).statusCode, 401);
  await areRefused(t, 'user manager', bearer(payload.token), 'tokens of several users', [
    ['PATCH', '/users', { keys: [self.id, plain.id], data: { token: 'another-token-that-is-long-enough' } }],
    ['PATCH', '/users', { keys: [plain.id], data: { token: null } }],
  ]);
});

t.test('an anonymous caller has only the rights of the public policy', async (t) => {
  await setPublicPolicy(app, everything);
  const before = await standing();
  for (const who of ['nobody', 'without a role'] as const) {
    const { headers } = callers[who];
    const requests = hostile.flatMap(([field, value]) => {
      const data = { [field]: value };
      return [...creations(data).slice(0, 1), ...updates(plain.id, data).slice(0, 1)];
    });
    await areRefused(t, who, headers, 'a hostile field', requests);
    for (const data of [{ password: 'a password that the caller knows' }, { email: newEmail() }]) {
      await areRefused(t, who, headers, 'administrators', [...updates(chief.id, data), ...updates(heir.id, data)]);
    }
    for (const collection of collections) {
      if (collection !== 'settings') t.equal((await get(`/${collection}?limit=1`, headers)).statusCode, 200, who);
    }
  }
  t.strictSame((await standing()).rights, before.rights);
  await setPublicPolicy(app, null);
});

t.test('no role can become its own ancestor, not even through one bulk update by an administrator', async (t) => {
  const [one, two, three] = [await createRole(app), await createRole(app), await createRole(app)];
  await areRefused(t, 'administrator', chief.headers, 'a cycle', [
    ['PATCH', `/roles/${one}`, { parent: one }],
    ['PATCH', '/roles', { keys: [one, two], data: { parent: two } }],
    [
      'PATCH',
      '/roles',
      [
        { id: one, parent: two },
        { id: two, parent: one },
      ],
    ],
    [
      'PATCH',
      '/roles',
      [
        { id: one, parent: two },
        { id: two, parent: three },
        { id: three, parent: one },
      ],
    ],
  ]);
  const set = (id: string, parent: string) =>
    request({ method: 'PATCH', url: `/roles/${id}`, headers: chief.headers, payload: { parent } });
  t.equal((await set(one, two)).statusCode, 200);
  t.equal((await set(two, three)).statusCode, 200);
  t.strictSame(
    (await Promise.all([set(three, one), set(three, two)])).map(({ statusCode }) => statusCode),
    [400, 400],
  );
});

t.test('rights are compared regardless of the order in which users have their roles and policies', async (t) => {
  const { app, request, post } = await startWithAdmin(t);
  const related = { collection: 'users', action: 'read' as const, fields: ['title'] };
  const rules = [
    { policies: { _some: { id: { _in: '$CURRENT_POLICIES' } } } },
    { role: { policies: { _some: { id: { _in: '$CURRENT_POLICIES' } } } } },
  ];
  const all = { collection: 'users', action: 'update' as const, fields: ['*'] };
  const [one, other] = [
    await policyWith(app, [all, { ...related, permissions: rules[0] }]),
    await policyWith(app, [{ ...related, permissions: rules[1] }]),
  ];
  // A row that was updated comes last, if nothing determines the order.
  const [first = ''] = [one, other].sort();
  await app.db.update(policies).set({ description: 'Updated' }).where(eq(policies.id, first));
  const holders: ReturnType<typeof createUserWithToken>[] = [];
  for (const [first, second] of [
    [one, other],
    [other, one],
  ] as const) {
    const parent = await createRole(app, { policies: [second] });
    holders.push(
      createUserWithToken(app, { policies: [first, second] }),
      createUserWithToken(app, { role: await createRole(app, { policies: [first, second] }) }),
      createUserWithToken(app, { role: await createRole(app, { policies: [first], parent }) }),
      createUserWithToken(app, { role: await createRole(app, { policies: [first] }), policies: [second] }),
    );
  }
  const users = await Promise.all(holders);
  for (const [number, caller] of users.entries()) {
    for (const [index, { id }] of users.entries()) {
      if (index === number) continue;
      const what = `user ${number} and user ${index}`;
      const asked = { user: caller.id, collection: 'users', action: 'update', item: id, field: 'email' };
      const { allowed } = (await post('/permissions/explain', asked, asAdmin)).json().data;
      t.equal(allowed, true, `${what}: explained`);
      const payload = { email: `user-${number}-${index}@example.com` };
      const { statusCode } = await request({ method: 'PATCH', url: `/users/${id}`, headers: caller.headers, payload });
      t.equal(statusCode, 200, what);
    }
  }
});
