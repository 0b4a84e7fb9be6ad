import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { permissions, roles } from '../../db/schema.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createPolicy, createRole, setPublicPolicy } from '../helpers/users/rights.js';
import { logIn, modes, readMe } from '../helpers/users/sessions.js';
import { changeUser, createUser, type NewUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, get, request } = service;

/** The fields of a user, with their initial values. */
const untouched = {
  first_name: null,
  last_name: null,
  location: null,
  title: null,
  description: null,
  tags: null,
  avatar: null,
  language: null,
  tfa_secret: null,
  status: 'active',
  role: null,
  token: null,
  last_access: null,
  last_page: null,
  provider: 'default',
  external_identifier: null,
  auth_data: null,
  email_notifications: true,
  appearance: null,
  theme_dark: null,
  theme_light: null,
  theme_light_overrides: null,
  theme_dark_overrides: null,
  email_verified_at: null,
};
const defaultFields = ['id', 'email', 'policies', 'created_at', ...Object.keys(untouched)].sort();
const asterisks = '**********';

let tokens = 0;
/** A user with a static token. Requests with this token leave the row unchanged. */
async function holder(values: NewUser = {}) {
  const token = `static-token-${++tokens}`;
  const user = await createUser(app, { token, ...values });
  const ask = (query = '', remoteAddress = '127.0.0.1') =>
    request({ method: 'GET', url: `/users/me${query}`, headers: bearer(token), remoteAddress });
  const me = async (query = '', remoteAddress?: string) => {
    const response = await ask(query, remoteAddress);
    if (response.statusCode !== 200) throw new Error(response.body);
    return response.json().data;
  };
  return { ...user, token, ask, me };
}

const everything = await createPolicy(app, { appAccess: true });

t.test('without `fields`, the response has every documented field, and no other', async (t) => {
  const user = await holder({ policies: [everything] });
  const response = await user.ask();
  t.equal(response.statusCode, 200);
  t.match(response.headers['content-type'], /^application\/json/);
  const { created_at, ...rest } = response.json().data;
  t.strictSame(rest, { ...untouched, id: user.id, email: user.email, token: asterisks, policies: [everything] });
  t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.strictSame(Object.keys(response.json().data).sort(), defaultFields);
});

t.test('every field of a user is returned as stored', async (t) => {
  const role = await createRole(app);
  const [one, two] = [await createPolicy(app), await createPolicy(app)];
  const avatar = 'b3b0c7ae-6f0f-4b9e-8d5a-0d3f2f1f6c11';
  const values = {
    firstName: 'Zoë',
    lastName: '"O’Brien" \\ 𝒳 \u2028',
    location: 'Here',
    title: 'Dr',
    description: 'Two\nlines',
    tags: ['a', '', 'ß'],
    avatar,
    language: 'de-DE',
    role,
    lastPage: '/users',
    externalIdentifier: 'ext-1',
    authData: { nested: { list: [1, 'two', null, { three: true }] }, __proto__x: 1 },
    emailNotifications: false,
    appearance: 'dark',
    themeDark: 'd',
    themeLight: 'l',
    themeLightOverrides: { a: { b: [] } },
    themeDarkOverrides: {},
    createdAt: new Date('2030-01-02T03:04:05.6Z'),
    emailVerifiedAt: new Date('2031-01-02T03:04:05Z'),
  };
  const user = await holder({
    ...values,
    tfaSecret: 'the sealed secret',
    lastAccess: new Date('2031-02-03T04:05:06.7Z'),
    policies: [everything, one, two],
  });
  const me = await user.me();
  t.strictSame(
    { ...me, policies: [...me.policies].sort() },
    {
      id: user.id,
      email: user.email,
      first_name: values.firstName,
      last_name: values.lastName,
      location: 'Here',
      title: 'Dr',
      description: 'Two\nlines',
      tags: values.tags,
      avatar,
      language: 'de-DE',
      tfa_secret: asterisks,
      status: 'active',
      role,
      token: asterisks,
      policies: [everything, one, two].sort(),
      last_access: '2031-02-03T04:05:06.700Z',
      last_page: '/users',
      provider: 'default',
      external_identifier: 'ext-1',
      auth_data: values.authData,
      email_notifications: false,
      appearance: 'dark',
      theme_dark: 'd',
      theme_light: 'l',
      theme_light_overrides: { a: { b: [] } },
      theme_dark_overrides: {},
      created_at: '2030-01-02T03:04:05.600Z',
      email_verified_at: '2031-01-02T03:04:05.000Z',
    },
  );
});

t.test('no response contains a secret', async (t) => {
  const user = await holder({ policies: [everything], tfaSecret: 'the sealed secret' });
  for (const query of [
    '',
    '?fields=*',
    '?fields=token,tfa_secret',
    '?fields=password',
    '?fields=*,password,token_hash',
  ]) {
    const { body } = await user.ask(query);
    t.notMatch(body, /argon2|sealed|password|token_hash|tfa_last_step/, query);
    t.notOk(body.includes(user.token), query);
  }
  t.strictSame(await user.me('?fields=token,tfa_secret'), { token: asterisks, tfa_secret: asterisks });
  const { headers } = await logIn(service, 'json', await createUser(app, { policies: [everything] }));
  const plain = await get('/users/me?fields=token,tfa_secret', headers);
  t.strictSame(plain.json(), { data: { token: null, tfa_secret: null } }, 'null without a secret');
});

t.test('`fields` can be comma-separated, repeated, in brackets, or absent', async (t) => {
  const user = await holder({ policies: [everything], firstName: 'Ann' });
  const { id, email } = user;
  const expected: [string, object][] = [
    ['?fields=id', { id }],
    ['?fields=email', { email }],
    ['?fields=id,email,first_name', { id, email, first_name: 'Ann' }],
    ['?fields=email,id', { id, email }],
    ['?fields[]=id&fields[]=email', { id, email }],
    ['?fields%5B%5D=id&fields%5B%5D=email', { id, email }],
    ['?fields[0]=id&fields[1]=email', { id, email }],
    ['?fields=id&fields=email', { id, email }],
    ['?fields=id,email&fields=first_name', { id, email, first_name: 'Ann' }],
    ['?fields[]=id,email', { id, email }],
    ['?fields=id,%20email', { id, email }],
    ['?fields=id,,email,', { id, email }],
    ['?fields=id,id,email,id', { id, email }],
    ['?fields=id&unknown=1&filter[x]=y', { id }],
    ['?fields=policies,status', { policies: [everything], status: 'active' }],
  ];
  for (const [query, data] of expected) t.strictSame(await user.me(query), data, query);
  for (const query of [
    '?fields=*',
    '?fields=',
    '?fields[]=',
    '?fields=,',
    '?fields=*,id',
    '?fields=email&fields=*',
    '?',
  ]) {
    t.strictSame(Object.keys(await user.me(query)).sort(), defaultFields, query);
  }
});

t.test('if `fields` contains an unknown or unreadable field, only the id is returned', async (t) => {
  const user = await holder({ policies: [everything] });
  const names = [
    'password',
    'token_hash',
    'tokenHash',
    'tfa_last_step',
    'no_such_field',
    'EMAIL',
    'id;drop',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '$current_user',
    'users.email',
    '**',
    '%00',
    '%F0%9F%98%80',
    '"email"',
  ];
  for (const name of names) {
    t.strictSame(await user.me(`?fields=${name}`), { id: user.id }, name);
    t.strictSame(await user.me(`?fields=email,${name}`), { id: user.id }, `email,${name}`);
    t.strictSame(await user.me(`?fields=*&fields=${name}`), { id: user.id }, `*,${name}`);
  }
  t.strictSame(await user.me('?fields[]=__proto__&fields[]=constructor'), { id: user.id });
});

t.test('any other form of `fields` returns 400', async (t) => {
  const user = await holder({ policies: [everything] });
  for (const query of ['?fields[a]=id', '?fields[a][b]=id', '?fields[][a]=id', '?fields=id&fields[a]=b']) {
    const response = await user.ask(query);
    t.equal(response.statusCode, 400, query);
    t.equal(codeOf(response), 'INVALID_QUERY', query);
    t.type(response.json().errors[0].extensions.reason, 'string');
  }
  for (const query of [
    '?fields=%E0%A4%A',
    `?fields=${'id,'.repeat(2500)}`,
    `?${'fields[]=id&'.repeat(1500)}`,
    '?fields[__proto__]=id',
    '?%00=%00',
    `?fields${'[a]'.repeat(50)}=id`,
  ]) {
    t.ok((await user.ask(query)).statusCode < 500, query.slice(0, 40));
  }
});

t.test('an anonymous caller gets 401, whatever the public policy allows', async (t) => {
  await setPublicPolicy(app, await createPolicy(app, { read: ['*'] }));
  for (const url of ['/users/me', '/users/me?fields=id', '/users/me/', '/users/me?access_token=']) {
    const response = await get(url);
    t.equal(response.statusCode, 401, url);
    t.strictSame(response.json().errors[0].extensions, { code: 'INVALID_CREDENTIALS' }, url);
  }
  t.equal((await get('/users/me', { authorization: 'Basic YWRtaW46YWRtaW4=' })).statusCode, 401);
  await setPublicPolicy(app, null);
});

t.test('users can read only those of their own fields that their rights include', async (t) => {
  const onlyId = async (t: Test, user: Awaited<ReturnType<typeof holder>>, what: string, ip?: string) => {
    for (const query of ['', '?fields=*', '?fields=email', '?fields=id', '?fields=no_such_field']) {
      t.strictSame(await user.me(query, ip), { id: user.id }, `${what} ${query}`);
    }
  };
  const all = async (t: Test, user: Awaited<ReturnType<typeof holder>>, what: string, ip?: string) =>
    t.strictSame(Object.keys(await user.me('', ip)).sort(), defaultFields, what);

  const names = await createPolicy(app, { read: ['first_name', 'last_name'] });
  const email = await createPolicy(app, { read: ['email', 'password', 'no_such_field'] });

  t.test('a user without rights can read only their id', async (t) => {
    await onlyId(t, await holder(), 'no role, no policy');
    await onlyId(t, await holder({ role: await createRole(app) }), 'a role without policies');
    await onlyId(t, await holder({ policies: [await createPolicy(app)] }), 'a policy without permissions');
    await onlyId(t, await holder({ policies: [await createPolicy(app, { read: [] })] }), 'a permission without fields');
  });

  t.test('app_access, admin_access, or a permission for all fields includes every field', async (t) => {
    await all(t, await holder({ policies: [await createPolicy(app, { appAccess: true })] }), 'app_access');
    await all(t, await holder({ policies: [await createPolicy(app, { adminAccess: true })] }), 'admin_access');
    await all(t, await holder({ policies: [await createPolicy(app, { read: ['*'] })] }), '*');
  });

  t.test('a permission includes the fields that it lists', async (t) => {
    const user = await holder({ policies: [names], firstName: 'Ann', lastName: 'Lee' });
    const both = { first_name: 'Ann', last_name: 'Lee' };
    t.strictSame(await user.me(), both);
    t.strictSame(await user.me('?fields=*'), both);
    t.strictSame(await user.me('?fields=last_name'), { last_name: 'Lee' });
    for (const query of ['?fields=email', '?fields=first_name,email', '?fields=*,email', '?fields=password']) {
      t.strictSame(await user.me(query), { id: user.id }, query);
    }
  });

  t.test('a permission for a secret or for a field that does not exist grants nothing', async (t) => {
    const user = await holder({ policies: [email] });
    t.strictSame(await user.me(), { email: user.email });
    t.strictSame(await user.me('?fields=password'), { id: user.id });
  });

  t.test('the rights of several policies are combined', async (t) => {
    const user = await holder({
      policies: [names],
      role: await createRole(app, { policies: [email] }),
      firstName: 'Ann',
    });
    t.strictSame(await user.me(), { first_name: 'Ann', last_name: null, email: user.email });
  });

  t.test('rights also come from the role and its ancestors', async (t) => {
    const grandparent = await createRole(app, { policies: [everything] });
    const parent = await createRole(app, { parent: grandparent });
    const child = await createRole(app, { parent });
    for (const role of [grandparent, parent, child]) {
      const user = await holder({ role });
      await all(t, user, 'role');
      t.strictSame(
        await user.me('?fields=role,policies'),
        { role, policies: [] },
        'policies of the role are not listed as the user’s own policies',
      );
    }
    // A parent inherits nothing from its children.
    const rich = await createRole(app);
    await createRole(app, { parent: rich, policies: [everything] });
    await onlyId(t, await holder({ role: rich }), 'the parent of a role with rights');
  });

  t.test('a cycle of parent roles is harmless', async (t) => {
    const first = await createRole(app);
    const second = await createRole(app, { parent: first, policies: [names] });
    const third = await createRole(app, { parent: second });
    await app.db.update(roles).set({ parent: third }).where(eq(roles.id, first));
    const own = await createRole(app);
    await app.db.update(roles).set({ parent: own }).where(eq(roles.id, own));
    for (const role of [first, second, third]) {
      t.strictSame(await (await holder({ role })).me(), { first_name: null, last_name: null });
    }
    await onlyId(t, await holder({ role: own }), 'a role that is its own parent');
  });

  t.test('the public policy applies only to users without a role', async (t) => {
    const [without, within] = [await holder(), await holder({ role: await createRole(app) })];
    await setPublicPolicy(app, names);
    t.strictSame(await without.me(), { first_name: null, last_name: null });
    await onlyId(t, within, 'with a role');
    await setPublicPolicy(app, null);
    await onlyId(t, without, 'no longer public');
  });

  t.test('permissions for other actions or collections do not grant this right', async (t) => {
    const policy = await createPolicy(app);
    await app.db.insert(permissions).values([
      { policy, collection: 'users', action: 'update', fields: ['*'] },
      { policy, collection: 'users', action: 'create', fields: ['*'] },
      { policy, collection: 'users', action: 'delete', fields: ['*'] },
      { policy, collection: 'roles', action: 'read', fields: ['*'] },
      { policy, collection: 'users', action: 'read', fields: null },
    ]);
    await onlyId(t, await holder({ policies: [policy] }), 'other actions and other collections');
  });

  t.test('ip_access disables a policy for other addresses', async (t) => {
    const user = await holder({
      policies: [await createPolicy(app, { appAccess: true, ipAccess: ['10.1.0.0/16', '192.0.2.7', '2001:db8::/32'] })],
    });
    for (const ip of ['10.1.0.1', '10.1.255.255', '192.0.2.7', '2001:db8::1', '::ffff:10.1.2.3'])
      await all(t, user, ip, ip);
    for (const ip of ['10.2.0.1', '192.0.2.8', '2001:db9::1', '::1', '::ffff:10.2.0.1', '127.0.0.1']) {
      await onlyId(t, user, ip, ip);
    }
    for (const ipAccess of [
      [],
      ['10.0.0.0/'],
      ['10.0.0.0/ '],
      ['10.0.0.0/0x0'],
      ['10.0.0.0/-1'],
      ['10.0.0.0/33'],
      ['0.0.0.0/0/0'],
      ['0.0.0.0/1e0'],
      ['all'],
      [''],
    ]) {
      const policy = await createPolicy(app, { adminAccess: true, ipAccess });
      await onlyId(t, await holder({ policies: [policy] }), JSON.stringify(ipAccess), '203.0.113.1');
    }
    const anywhere = await createPolicy(app, { appAccess: true, ipAccess: ['0.0.0.0/0', '::/0'] });
    await all(t, await holder({ policies: [anywhere] }), 'anywhere', '203.0.113.1');
    await all(t, await holder({ policies: [anywhere] }), 'anywhere', '2001:db8::1');
  });

  t.test('enforce_tfa does not restrict this route', async (t) => {
    await all(t, await holder({ policies: [await createPolicy(app, { appAccess: true, enforceTfa: true })] }), 'me');
  });
});

t.test('timestamps are ISO 8601 in UTC with milliseconds', async (t) => {
  for (const [moment, expected] of [
    ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
    ['2024-06-30T12:00:00+02:00', '2024-06-30T10:00:00.000Z'],
    ['1999-12-31T23:59:59.001Z', '1999-12-31T23:59:59.001Z'],
  ] as const) {
    const user = await holder({ policies: [everything] });
    await changeUser(app, user.id, { lastAccess: new Date(moment) });
    t.equal((await user.me('?fields=last_access')).last_access, expected);
  }
  const { headers } = await logIn(service, 'json');
  const { last_access } = (await get('/users/me', headers)).json().data;
  t.match(last_access, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

t.test('the response is the same for sessions of every mode and for every way to send a token', async (t) => {
  for (const mode of modes) {
    const me = await readMe(service, await logIn(service, mode));
    t.match(me.json().data, { email: administrator.email, status: 'active' }, mode);
    t.strictSame(Object.keys(me.json().data).sort(), defaultFields);
  }
  const user = await holder({ policies: [everything] });
  t.equal((await get(`/users/me?access_token=${user.token}&fields=id`)).json().data.id, user.id);
  t.strictSame((await get('/users/me?fields=email', bearer(user.token))).json().data, { email: user.email });
});

t.test('a trailing slash is accepted', async (t) => {
  const user = await holder({ policies: [everything] });
  t.strictSame((await get('/users/me/?fields=id', bearer(user.token))).json(), { data: { id: user.id } });
});

t.test('HEAD returns the same headers as GET, without the body', async (t) => {
  const user = await holder({ policies: [everything] });
  const head = await request({ method: 'HEAD', url: '/users/me?fields=id,email', headers: bearer(user.token) });
  const whole = await user.ask('?fields=id,email');
  t.equal(head.statusCode, 200);
  t.equal(head.body, '');
  t.equal(head.headers['content-length'], whole.headers['content-length']);
  t.equal(head.headers['content-type'], whole.headers['content-type']);
  t.equal((await request({ method: 'HEAD', url: '/users/me' })).statusCode, 401);
});
