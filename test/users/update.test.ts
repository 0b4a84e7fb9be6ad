import { randomUUID } from 'node:crypto';
import t from 'tap';
import { permissions, settings } from '../../db/schema.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { asAdmin, type Extensions, patch, refusedUnchanged, startWithAdmin, stateOf } from '../helpers/http/writing.js';
import { bearer, type TestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { logIn, modes, openSession, readMe, refresh } from '../helpers/users/sessions.js';
import { createUser, storedUser } from '../helpers/users/users.js';

/** Creates a user with a static token, and a policy with these permissions on users. */
async function member(
  { app }: TestApp,
  token: string,
  ...grants: Omit<typeof permissions.$inferInsert, 'policy' | 'collection'>[]
) {
  const policy = await createPolicy(app);
  for (const grant of grants) await app.db.insert(permissions).values({ policy, collection: 'users', ...grant });
  const user = await createUser(app, { token, policies: [policy] });
  return { ...user, headers: bearer(token) };
}

t.test('updating users as an administrator', async (t) => {
  const service = await startWithAdmin(t, { MAX_BATCH_MUTATION: '10' });
  const { app, get } = service;
  const role = await createRole(app);
  const policy = await createPolicy(app);
  const [a, b, c] = [await createUser(app), await createUser(app), await createUser(app)];
  await createUser(app, { email: 'Taken@Example.com', token: 'a-token-that-is-in-use-and-long-enough' });

  t.test('updating one user returns the current record, and changes only the given fields', async (t) => {
    const before = (await get(`/users/${a.id}`, asAdmin)).json().data;
    const response = await patch(service, `/users/${a.id}`, { first_name: 'Ada', tags: ['x'] });
    t.equal(response.statusCode, 200);
    t.strictSame(response.json(), { data: { ...before, first_name: 'Ada', tags: ['x'] } });
    const cleared = await patch(service, `/users/${a.id}?fields=first_name,tags&meta=*`, {
      first_name: null,
      tags: null,
    });
    t.strictSame(cleared.json().data, { first_name: null, tags: null });
    t.type(cleared.json().meta.total_count, 'number');
    t.type(cleared.json().meta.filter_count, 'number');
  });

  t.test('`{}` changes nothing, and an id may be in upper case', async (t) => {
    const before = await stateOf(app);
    const response = await patch(service, `/users/${a.id.toUpperCase()}`, {});
    t.equal(response.statusCode, 200);
    t.equal(response.json().data.id, a.id);
    t.equal(await stateOf(app), before);
  });

  t.test('`id` in a body is ignored', async (t) => {
    for (const id of [randomUUID(), b.id, 'x', null, 1]) {
      const response = await patch(service, `/users/${a.id}`, { id, title: `t${id}`.slice(0, 50) });
      t.equal(response.json().data.id, a.id);
    }
    const many = await patch(service, '/users', { keys: [a.id], data: { id: b.id, title: 'Same' } });
    t.strictSame(
      many.json().data.map(({ id }: { id: string }) => id),
      [a.id],
    );
  });

  t.test('many users can be updated in three forms, and are returned in the order of their keys', async (t) => {
    const ids = (response: { json(): { data: { id: string }[] } }) => response.json().data.map(({ id }) => id);
    const keys = await patch(service, '/users?meta=total_count', {
      keys: [c.id, a.id.toUpperCase(), b.id, c.id],
      data: { location: 'Here' },
    });
    t.equal(keys.statusCode, 200);
    t.strictSame(ids(keys), [c.id, a.id, b.id]);
    t.type(keys.json().meta.total_count, 'number');
    const query = { filter: { location: { _eq: 'Here' } }, sort: '-id' };
    const byQuery = await patch(service, '/users?fields=id,location', { query, data: { location: 'There' } });
    t.strictSame(ids(byQuery), [a.id, b.id, c.id].sort().reverse());
    t.ok(byQuery.json().data.every(({ location }: { location: string }) => location === 'There'));
    const list = await patch(service, '/users?fields=id,title,location', [
      { id: b.id.toUpperCase(), title: 'B' },
      { id: a.id, location: 'A' },
      { id: c.id },
    ]);
    t.strictSame(list.json(), {
      data: [
        { id: b.id, title: 'B', location: 'There' },
        { id: a.id, title: 'Same', location: 'A' },
        { id: c.id, title: null, location: 'There' },
      ],
    });
  });

  t.test('an update that selects no users returns an empty list', async (t) => {
    const before = await stateOf(app);
    const nothing = { filter: { email: { _eq: 'nobody@example.com' } } };
    for (const payload of [[], { keys: [], data: { title: 'x' } }, { query: nothing, data: { title: 'x' } }]) {
      const response = await patch(service, '/users', payload);
      t.equal(response.statusCode, 200);
      t.strictSame(response.json(), { data: [] });
    }
    t.equal(await stateOf(app), before);
  });

  t.test('role and policies can be set, replaced and removed', async (t) => {
    const other = await createPolicy(app);
    const set = (data: object) => patch(service, `/users/${b.id}?fields=role,policies`, data);
    t.strictSame((await set({ role, policies: [policy, other] })).json().data, {
      role,
      policies: [policy, other].sort(),
    });
    t.strictSame((await set({ policies: [other, other] })).json().data, { role, policies: [other] });
    t.strictSame((await set({ role: null, policies: [] })).json().data, { role: null, policies: [] });
  });

  t.test('sending back a masked token changes nothing', async (t) => {
    const { id } = await createUser(app, { token: 'a-token-that-stays' });
    const response = await patch(service, `/users/${id}`, { token: '**********', title: 'x' });
    t.equal(response.json().data.token, '**********');
    t.equal((await get('/users/me', bearer('a-token-that-stays'))).statusCode, 200);
    t.equal((await get('/users/me', bearer('**********'))).statusCode, 401);
  });

  t.test('changing the provider or the external identifier sets auth_data to null', async (t) => {
    const { id } = await createUser(app, { authData: { login: 'x' } });
    t.strictSame((await patch(service, `/users/${id}?fields=auth_data`, { title: 'x' })).json().data, {
      auth_data: { login: 'x' },
    });
    const moved = await patch(service, `/users/${id}?fields=provider,external_identifier,auth_data`, {
      provider: 'github',
      external_identifier: '42',
      auth_data: { login: 'y' },
    });
    t.strictSame(moved.json().data, { provider: 'github', external_identifier: '42', auth_data: null });
  });

  t.test('a rejected request changes nothing', async (t) => {
    const nobody = randomUUID();
    const one: [what: string, data: object, readonly [ErrorCode, Extensions?]][] = [
      ['an unknown field', { nickname: 'x' }, ['INVALID_PAYLOAD']],
      ['tfa_secret', { tfa_secret: 'GEZDGNBVGY3TQOJQ' }, ['INVALID_PAYLOAD']],
      ['tfa_secret null', { tfa_secret: null }, ['INVALID_PAYLOAD']],
      ['a wrong type', { first_name: 1 }, ['INVALID_PAYLOAD']],
      ['a bad date', { last_access: 'soon' }, ['INVALID_PAYLOAD']],
      ['null as the address', { email: null }, ['FAILED_VALIDATION', { field: 'email', type: 'email' }]],
      ['an empty address', { email: '' }, ['FAILED_VALIDATION', { field: 'email', type: 'email' }]],
      ['a malformed address', { email: 'x' }, ['FAILED_VALIDATION', { field: 'email', type: 'email' }]],
      ['address in use', { email: 'TAKEN@example.com' }, ['RECORD_NOT_UNIQUE', { value: 'TAKEN@example.com' }]],
      [
        'token in use',
        { token: 'a-token-that-is-in-use-and-long-enough' },
        ['RECORD_NOT_UNIQUE', { value: '**********' }],
      ],
      ['status null', { status: null }, ['FAILED_VALIDATION', { field: 'status' }]],
      ['status unknown', { status: 'x' }, ['FAILED_VALIDATION', { field: 'status' }]],
      ['an unknown role', { role: nobody }, ['INVALID_FOREIGN_KEY', { field: 'role', value: nobody }]],
      ['an unknown policy', { policies: [nobody] }, ['INVALID_FOREIGN_KEY', { field: 'policies', value: nobody }]],
      ['text too long', { title: 'x'.repeat(51) }, ['VALUE_TOO_LONG', { field: 'title' }]],
      ['notifications null', { email_notifications: null }, ['NOT_NULL_VIOLATION', { field: 'email_notifications' }]],
      ['provider null', { provider: null }, ['NOT_NULL_VIOLATION', { field: 'provider' }]],
    ];
    for (const [what, data, error] of one) {
      const good = { id: b.id, title: 'never' };
      const send = [
        () => patch(service, `/users/${a.id}`, data),
        () => patch(service, '/users', { keys: [a.id], data: { title: 'never', ...data } }),
        () => patch(service, '/users', [good, { id: a.id, ...data }]),
      ];
      for (const [form, request] of send.entries()) {
        await refusedUnchanged(t, service, request, error, `${what}, form ${form}`);
      }
    }
    const data = { title: 'never' };
    const many: [what: string, payload: object, readonly [ErrorCode, Extensions?]][] = [
      ['nothing', {}, ['INVALID_PAYLOAD']],
      ['data alone', { data }, ['INVALID_PAYLOAD']],
      ['keys alone', { keys: [a.id] }, ['INVALID_PAYLOAD']],
      ['keys and query', { keys: [a.id], query: {}, data }, ['INVALID_PAYLOAD']],
      ['an unknown key', { keys: [a.id], data, more: 1 }, ['INVALID_PAYLOAD']],
      ['data as a list', { keys: [a.id], data: [data] }, ['INVALID_PAYLOAD']],
      ['data as null', { keys: [a.id], data: null }, ['INVALID_PAYLOAD']],
      ['keys as a text', { keys: a.id, data }, ['INVALID_PAYLOAD']],
      ['keys as null', { keys: null, data }, ['INVALID_PAYLOAD']],
      ['query as a list', { query: [], data }, ['INVALID_PAYLOAD']],
      ['query with an unknown operator', { query: { filter: { email: { _x: 1 } } }, data }, ['INVALID_QUERY']],
      ['query with an unknown field', { query: { filter: { nickname: { _eq: 1 } } }, data }, ['FORBIDDEN']],
      ['query by the password', { query: { filter: { password: { _nnull: true } } }, data }, ['FORBIDDEN']],
      ['a nonexistent id', { keys: [a.id, nobody], data }, ['FORBIDDEN']],
      ['a malformed id', { keys: [a.id, 'x'], data }, ['FORBIDDEN']],
      ['a number as an id', { keys: [a.id, 1], data }, ['FORBIDDEN']],
      ['an item without id', [{ id: a.id, ...data }, data], ['INVALID_PAYLOAD']],
      ['an item that is null', [{ id: a.id, ...data }, null], ['INVALID_PAYLOAD']],
      [
        'a nonexistent item',
        [
          { id: a.id, ...data },
          { id: nobody, ...data },
        ],
        ['FORBIDDEN'],
      ],
      [
        'the same item twice',
        [
          { id: a.id, title: '1' },
          { id: a.id.toUpperCase(), title: '2' },
        ],
        ['INVALID_PAYLOAD'],
      ],
      [
        'one address for two users',
        { keys: [a.id, b.id], data: { email: 'one@example.com' } },
        ['RECORD_NOT_UNIQUE', { collection: 'users', field: 'email', value: 'one@example.com' }],
      ],
      [
        'one token for two users',
        { keys: [a.id, b.id], data: { token: 'one-token-that-is-long-enough-for-all' } },
        ['RECORD_NOT_UNIQUE'],
      ],
      [
        'the same address twice',
        [
          { id: a.id, email: 'one@example.com' },
          { id: b.id, email: 'ONE@example.com' },
        ],
        ['RECORD_NOT_UNIQUE', { field: 'email', value: 'ONE@example.com' }],
      ],
      ['too many keys', { keys: Array.from({ length: 11 }, () => a.id), data }, ['INVALID_PAYLOAD']],
      ['too many items', Array.from({ length: 11 }, () => ({ id: a.id })), ['INVALID_PAYLOAD']],
    ];
    for (const [what, payload, error] of many) {
      await refusedUnchanged(t, service, () => patch(service, '/users', payload), error, what);
    }
    for (const key of [nobody, 'x', '1', 'me%00', `${a.id}x`]) {
      await refusedUnchanged(t, service, () => patch(service, `/users/${key}`, data), ['FORBIDDEN'], key);
    }
    const badAnswer = () => patch(service, `/users/${a.id}?fields=password`, data);
    await refusedUnchanged(t, service, badAnswer, ['FORBIDDEN'], 'a password in the response');
    for (let extra = 0; extra < 8; extra++) await createUser(app);
    const all = () => patch(service, '/users', { query: {}, data });
    await refusedUnchanged(t, service, all, ['INVALID_PAYLOAD'], 'a query that matches too many');
  });

  t.test('a new password works if it matches the policy', async (t) => {
    const user = await createUser(app);
    const logInWith = async (password: string) =>
      (await service.post('/auth/login', { email: user.email, password })).statusCode;
    await app.db.update(settings).set({ authPasswordPolicy: '^[a-z]+$' });
    const error = ['FAILED_VALIDATION', { field: 'password', type: 'regex' }] as const;
    await refusedUnchanged(
      t,
      service,
      () => patch(service, `/users/${user.id}`, { password: 'UPPER CASE' }),
      error,
      'upper case',
    );
    t.equal((await patch(service, `/users/${user.id}`, { password: 'entirelylowercase' })).statusCode, 200);
    await app.db.update(settings).set({ authPasswordPolicy: null });
    t.equal(await logInWith('entirelylowercase'), 200);
    t.equal(await logInWith(user.password), 401);
    t.match((await storedUser(app, user.id)).password, /^\$argon2id\$/);
    await patch(service, `/users/${user.id}`, { password: null });
    t.equal(await logInWith('entirelylowercase'), 401);
  });
});

t.test('an update revokes credentials that it affects', async (t) => {
  const service = await startWithAdmin(t);
  const { app, get } = service;

  t.test('a new password, address or inactive status ends all sessions, and other changes end none', async (t) => {
    const role = await createRole(app);
    let count = 0;
    const cases: [what: string, data: () => object, ends: boolean][] = [
      ...['draft', 'invited', 'unverified', 'suspended', 'archived'].map((status): [string, () => object, boolean] => [
        status,
        () => ({ status }),
        true,
      ]),
      ['password', () => ({ password: 'another password' }), true],
      ['password null', () => ({ password: null }), true],
      ['address', () => ({ email: `another-${++count}@example.com` }), true],
      ['status active', () => ({ status: 'active' }), false],
      ['role', () => ({ role }), false],
      ['token', () => ({ token: `another-token-that-is-long-enough-${++count}` }), false],
      ['names', () => ({ first_name: 'A', last_name: 'B' }), false],
    ];
    for (const [what, data, ends] of cases) {
      const user = await createUser(app);
      const sessions = [];
      for (const mode of modes) sessions.push(await logIn(service, mode, user));
      t.equal((await patch(service, `/users/${user.id}`, data())).statusCode, 200, what);
      for (const session of sessions) {
        t.equal((await readMe(service, session)).statusCode, ends ? 401 : 200, `${what}: ${session.mode}`);
        t.equal((await refresh(service, session)).statusCode, ends ? 401 : 200, `${what}: ${session.mode} refresh`);
      }
    }
  });

  t.test('sending the same address again, as a form does, ends no session', async (t) => {
    const user = await createUser(app, { email: 'Same@Example.com' });
    const session = await logIn(service, 'json', user);
    t.equal((await patch(service, `/users/${user.id}`, { email: 'Same@Example.com', title: 'x' })).statusCode, 200);
    t.equal((await readMe(service, session)).statusCode, 200);
    const recased = await patch(service, `/users/${user.id}`, { email: 'same@example.com' });
    t.equal(recased.json().data.email, 'same@example.com', 'the letter case can be changed');
  });

  t.test('a bulk update ends the sessions of all updated users, and no others', async (t) => {
    const [a, b, other] = [await createUser(app), await createUser(app), await createUser(app)];
    const sessions = [];
    for (const user of [a, b, other]) sessions.push(await logIn(service, 'session', user));
    await patch(service, '/users', [
      { id: a.id, status: 'suspended' },
      { id: b.id, password: 'another password' },
    ]);
    t.strictSame(
      await Promise.all(sessions.map(async (session) => (await readMe(service, session)).statusCode)),
      [401, 401, 200],
    );
  });

  t.test(
    'after a change of password or address, the caller’s session continues in every mode, and the others end',
    async (t) => {
      const policy = await createPolicy(app, { read: ['*'] });
      await app.db.insert(permissions).values({
        policy,
        collection: 'users',
        action: 'update',
        fields: ['*'],
        permissions: { id: { _eq: '$CURRENT_USER' } },
      });
      const administration = await createPolicy(app, { adminAccess: true });
      for (const mode of modes) {
        for (const [url, data, ownPolicy] of [
          ['/users/me', { password: 'another password' }, policy],
          ['/users/me', { email: `own-${mode}@example.com` }, administration],
          ['/users/{id}', { password: 'another password' }, policy],
        ] as const) {
          const user = await createUser(app, { policies: [ownPolicy] });
          const own = await logIn(service, mode, user);
          const other = await logIn(service, mode, user);
          const response = await patch(service, url.replace('{id}', user.id), data, own.headers);
          t.equal(response.statusCode, 200, `${mode} ${url}`);
          t.equal((await readMe(service, own)).statusCode, 200, `${mode} ${url}: own`);
          t.equal((await readMe(service, other)).statusCode, 401, `${mode} ${url}: other`);
          t.equal((await refresh(service, own)).statusCode, 200, `${mode} ${url}: the caller’s session continues`);
        }
        const user = await createUser(app, { policies: [policy] });
        const own = await logIn(service, mode, user);
        const other = await logIn(service, mode, user);
        const asked = await patch(service, '/users/me', { email: `asked-${mode}@example.com` }, own.headers);
        t.match(asked.json().data, { email: user.email, pending_email: `asked-${mode}@example.com` }, mode);
        t.equal((await readMe(service, other)).statusCode, 200, `${mode}: a request for an address ends no session`);
        t.equal((await patch(service, '/users/me', { status: 'archived' }, own.headers)).statusCode, 200);
        t.equal(
          (await readMe(service, own)).statusCode,
          401,
          `${mode}: no session continues after the status has changed`,
        );
      }
    },
  );

  t.test('a replaced static token, and the token of an inactive user, are rejected immediately', async (t) => {
    const { id } = await createUser(app, { token: 'the-old-token' });
    const status = async (token: string) => (await get('/users/me', bearer(token))).statusCode;
    t.equal(await status('the-old-token'), 200);
    const token = 'the-new-token-of-this-user-is-long';
    t.equal((await patch(service, `/users/${id}`, { token })).statusCode, 200);
    t.equal(await status('the-old-token'), 401);
    t.equal(await status(token), 200);
    await patch(service, `/users/${id}`, { status: 'suspended' });
    t.equal(await status(token), 401);
    await patch(service, `/users/${id}`, { status: 'active' });
    t.equal(await status(token), 200);
    await patch(service, `/users/${id}`, { token: null });
    t.equal(await status(token), 401);
  });
});

t.test('updating users by permission', async (t) => {
  const service = await startWithAdmin(t);
  const { app, request } = service;
  const own = { id: { _eq: '$CURRENT_USER' } };
  const target = await createUser(app, { firstName: 'Target' });
  const administrator = await createUser(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const self = await member(service, 'own-row', {
    action: 'update',
    fields: ['first_name', 'token'],
    permissions: own,
  });
  const all = await member(
    service,
    'all-rows',
    { action: 'update', fields: ['*'] },
    { action: 'read', fields: ['id'] },
  );
  const reader = await member(service, 'reads-only', { action: 'read', fields: ['*'] });

  t.test('a caller without the right to read gets 204 without a body', async (t) => {
    for (const [url, payload] of [
      ['/users/me', { first_name: 'Me' }],
      [`/users/${self.id}`, { first_name: 'Me' }],
      ['/users', { keys: [self.id], data: { first_name: 'Me' } }],
      ['/users', [{ id: self.id, first_name: 'Me' }]],
    ] as const) {
      const response = await patch(service, url, payload, self.headers);
      t.equal(response.statusCode, 204, url);
      t.equal(response.body, '');
      t.equal(response.headers['content-type'], undefined);
    }
    t.equal((await storedUser(app, self.id)).firstName, 'Me');
  });

  t.test('a write outside the rule or its fields, or without a right, returns 403', async (t) => {
    const name = { first_name: 'never' };
    const cases: [what: string, url: string, payload: object, headers: Record<string, string>][] = [
      ['another row', `/users/${target.id}`, name, self.headers],
      ['own and another row', '/users', { keys: [self.id, target.id], data: name }, self.headers],
      ['another field', '/users/me', { last_name: 'never' }, self.headers],
      ['one field of two', '/users/me', { ...name, last_name: 'never' }, self.headers],
      ['by a query, without a right to read', '/users', { query: {}, data: name }, self.headers],
      ['no right', `/users/${target.id}`, name, reader.headers],
      ['no right to the own row', '/users/me', name, reader.headers],
      ['anonymous', `/users/${target.id}`, name, {}],
      ['role', `/users/${target.id}`, { role: null }, all.headers],
      ['own role', '/users/me', { role: null }, all.headers],
      ['own policies', '/users/me', { policies: [] }, all.headers],
      ['own auth_data', '/users/me', { auth_data: { trusted: true } }, all.headers],
      ['own auth_data, emptied', `/users/${all.id}`, { auth_data: null }, all.headers],
      ['own last_access', '/users/me', { last_access: '2026-01-31T10:00:00.000Z' }, all.headers],
      ['auth_data of another', '/users', { keys: [target.id], data: { auth_data: {} } }, all.headers],
      ['last_access of another', '/users', [{ id: target.id, last_access: null }], all.headers],
      ['token of another', `/users/${target.id}`, { token: 'a-token-of-theirs-that-is-long-enough' }, all.headers],
      ['an administrator', `/users/${administrator.id}`, { password: 'another password' }, all.headers],
      ['an administrator among others', '/users', { keys: [target.id, administrator.id], data: name }, all.headers],
      ['a field in the response', `/users/${target.id}?fields=email`, name, all.headers],
    ];
    for (const [what, url, payload, headers] of cases) {
      await refusedUnchanged(t, service, () => patch(service, url, payload, headers), ['FORBIDDEN'], what);
    }
    for (const [field, headers] of [
      ['role', all.headers],
      ['auth_data', all.headers],
      ['last_access', all.headers],
      ['last_name', self.headers],
      ['password', self.headers],
    ] as const) {
      // The right to write a field is checked before its value.
      for (const value of [null, 5, {}]) {
        const send = () => patch(service, '/users/me', { ...name, [field]: value }, headers);
        const extensions = { reason: (await send()).json().errors[0].extensions.reason };
        t.match(extensions.reason, new RegExp(`\\b${field}\\b`), 'the reason names the field');
        await refusedUnchanged(t, service, send, ['FORBIDDEN', extensions], field);
      }
    }
    const anonymous = () => request({ method: 'PATCH', url: '/users/me', payload: name });
    await refusedUnchanged(t, service, anonymous, ['INVALID_CREDENTIALS'], '/users/me without a user');
    for (const field of ['provider', 'external_identifier', 'tfa_secret']) {
      const send = () => patch(service, '/users/me', { [field]: 'x' }, all.headers);
      await refusedUnchanged(t, service, send, ['INVALID_PAYLOAD'], field);
    }
    t.strictSame((await patch(service, `/users/${target.id}`, { title: 'x' }, all.headers)).json().data, {
      id: target.id,
    });
    t.equal(
      (
        await patch(
          service,
          '/users/me',
          { token: 'own-row-with-a-new-token-long-enough' },
          await openSession(app, self.id),
        )
      ).statusCode,
      204,
      'own token',
    );
  });

  t.test('a row must pass the validation of a permission that allows the write', async (t) => {
    const both = await member(
      service,
      'two-grants',
      { action: 'update', fields: ['*'], permissions: own },
      { action: 'update', fields: ['*'], validation: { first_name: { _in: ['Good'] } } },
    );
    const error = ['FAILED_VALIDATION', { field: 'first_name', path: [] }] as const;
    const send = () => patch(service, `/users/${target.id}`, { first_name: 'Bad' }, both.headers);
    await refusedUnchanged(t, service, send, error, 'another user’s row, with a permission for their own row');
    const mixed = () =>
      patch(service, '/users', { keys: [both.id, target.id], data: { first_name: 'Bad' } }, both.headers);
    await refusedUnchanged(t, service, mixed, error, 'both rows');
    t.equal((await patch(service, `/users/${target.id}`, { first_name: 'Good' }, both.headers)).statusCode, 204);
    t.equal((await patch(service, '/users/me', { first_name: 'Bad' }, both.headers)).statusCode, 204, 'the own row');
  });
});
