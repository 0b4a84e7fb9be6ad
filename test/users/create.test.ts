import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { permissions, settings, users } from '../../db/schema.js';
import type { ErrorCode } from '../../schemas/errors.js';
import { asAdmin, type Extensions, refusedUnchanged, startWithAdmin } from '../helpers/http/writing.js';
import { bearer } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

t.test('creating users as an administrator', async (t) => {
  const service = await startWithAdmin(t, { MAX_BATCH_MUTATION: '20' });
  const { app, post, get } = service;
  const role = await createRole(app);
  const policy = await createPolicy(app);
  const taken = await createUser(app, { email: 'Taken@Example.com', token: 'a-token-that-is-in-use-and-long-enough' });
  const external = { provider: 'github', externalIdentifier: 'Octocat', email: 'octocat@example.com' };
  await createUser(app, external);
  let count = 0;
  const address = () => `new-${++count}@example.com`;

  t.test('creating one user returns an object with the default values', async (t) => {
    const email = address();
    const response = await post('/users', { email }, asAdmin);
    t.equal(response.statusCode, 200);
    t.strictSame(Object.keys(response.json()), ['data'], 'no meta unless requested');
    const { id, created_at, ...rest } = response.json().data;
    t.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000, 'created just now');
    t.match(id, /^[0-9a-f-]{36}$/);
    t.strictSame(rest, {
      first_name: null,
      last_name: null,
      email,
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
      policies: [],
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
    });
    t.strictSame(
      (await get(`/users/${id}`, asAdmin)).json().data,
      { id, created_at, ...rest },
      'reading the user returns the same',
    );
  });

  t.test('every field is stored as given, including texts of the maximum length', async (t) => {
    const texts = { first_name: 50, last_name: 50, title: 50, location: 255, language: 255, last_page: 255 };
    const themes = { appearance: 255, theme_dark: 255, theme_light: 255, external_identifier: 255 };
    // Lengths are in characters, not in bytes or UTF-16 units.
    const longest = Object.fromEntries(
      Object.entries({ ...texts, ...themes }).map(([field, length]) => [field, '🙂'.repeat(length)]),
    );
    const given = {
      ...longest,
      id: randomUUID().toUpperCase(),
      email: `${'x'.repeat(128 - '@Example.com'.length)}@Example.com`,
      provider: 'p'.repeat(128),
      description: 'd'.repeat(10_000),
      tags: ['', 'ä', ...Array.from({ length: 98 }, () => '🙂'.repeat(100))],
      avatar: randomUUID(),
      status: 'draft',
      role: role.toUpperCase(),
      policies: [policy.toUpperCase()],
      last_access: '2026-01-31T12:00:00+02:00',
      auth_data: { login: 'octocat', nested: { list: [1, null, 'x'] } },
      email_notifications: false,
      theme_light_overrides: { a: 'x'.repeat(16 * 1024 - 8) },
      theme_dark_overrides: {},
    };
    const response = await post(
      '/users',
      { ...given, password: 'correct horse battery staple '.repeat(36).slice(0, 1024), token: 't'.repeat(255) },
      asAdmin,
    );
    t.equal(response.statusCode, 200, response.body);
    t.match(response.json().data, {
      ...given,
      id: given.id.toLowerCase(),
      role,
      policies: [policy],
      last_access: '2026-01-31T10:00:00.000Z',
      token: '**********',
      tfa_secret: null,
    });
    t.notOk('password' in response.json().data);
    t.notMatch(response.body, 'tttt');
  });

  t.test('a new user can use the password and the token, with the address in any letter case', async (t) => {
    const credentials = { email: 'Works@Example.com', password: 'the password of the new user' };
    const token = 'the-static-token-of-the-new-user';
    t.equal((await post('/users', { ...credentials, token }, asAdmin)).statusCode, 200);
    const login = await post('/auth/login', { ...credentials, email: 'wORKS@eXAMPLE.com' });
    t.equal(login.statusCode, 200);
    t.equal((await get('/users/me', bearer(token))).statusCode, 200);
    t.equal((await post('/auth/login', { ...credentials, password: 'another' })).statusCode, 401);
  });

  t.test('many users can be sent as a list or as {data}, and are returned in the given order', async (t) => {
    const list = ['c', 'a', 'b'].map((name) => ({ email: address(), password: 'a fine password', first_name: name }));
    const response = await post('/users?fields=first_name,email&meta=*', list, asAdmin);
    t.equal(response.statusCode, 200);
    const { data, meta } = response.json();
    t.strictSame(
      data.map(({ first_name }: { first_name: string }) => first_name),
      ['c', 'a', 'b'],
    );
    const { count: total } = (await get('/users?aggregate[count]=*', asAdmin)).json().data[0];
    t.strictSame(meta, { total_count: total, filter_count: total });
    t.equal(typeof total, 'number');

    const wrapped = { data: list.map((user) => ({ ...user, email: address() })) };
    const again = await post('/users?fields=first_name', wrapped, asAdmin);
    t.strictSame(again.json(), { data: [{ first_name: 'c' }, { first_name: 'a' }, { first_name: 'b' }] });
    t.strictSame((await post('/users', [], asAdmin)).json(), { data: [] });
    t.strictSame((await post('/users', { data: [] }, asAdmin)).json(), { data: [] });
    const one = await post('/users?fields=email&meta=total_count', { email: address() }, asAdmin);
    t.strictSame(Object.keys(one.json()), ['data', 'meta']);
  });

  t.test('in a list, only users of another provider can be created without a password', async (t) => {
    const user = { email: address(), provider: 'github', external_identifier: 'somebody' };
    t.equal((await post('/users', [user], asAdmin)).statusCode, 200);
  });

  t.test('a rejected request changes nothing', async (t) => {
    const long = (length: number) => 'x'.repeat(length);
    const unique = (field: string, value: unknown): [ErrorCode, Extensions] => [
      'RECORD_NOT_UNIQUE',
      { collection: 'users', field, value },
    ];
    const tooLong = (field: string, value: unknown): [ErrorCode, Extensions] => [
      'VALUE_TOO_LONG',
      { collection: 'users', field, value },
    ];
    const nobody = randomUUID();
    const wrongType = ['INVALID_PAYLOAD'] as const;
    const badEmail: [ErrorCode, Extensions] = ['FAILED_VALIDATION', { field: 'email', type: 'email', path: [] }];
    const badStatus: [ErrorCode, Extensions] = ['FAILED_VALIDATION', { field: 'status', path: [] }];
    const good = () => ({ email: address(), password: 'a fine password' });

    const alone: [what: string, payload: object, readonly [ErrorCode, Extensions?]][] = [
      ['without an address', {}, ['INVALID_PAYLOAD']],
      ['only a name', { first_name: 'A' }, ['INVALID_PAYLOAD']],
      ['an unknown field', { email: address(), nickname: 'x' }, ['INVALID_PAYLOAD']],
      ['a column that is not a field', { email: address(), token_hash: 'x' }, ['INVALID_PAYLOAD']],
      ['constructor', { email: address(), constructor: 'x' }, ['INVALID_PAYLOAD']],
      ['toString', { email: address(), toString: 'x' }, ['INVALID_PAYLOAD']],
      ...['admin', '', 'a@b@c', 'a b@example.com', '@example.com', 'ä@example.com', 'a@example.com\n', null].map(
        (email): [string, object, readonly [ErrorCode, Extensions?]] => [`address ${email}`, { email }, badEmail],
      ),
      ['address in use', { email: 'taken@example.COM' }, unique('email', 'taken@example.COM')],
      ['address too long', { email: `${long(200)}@example.com` }, tooLong('email', `${long(200)}@example.com`)],
      [
        'token in use',
        { email: address(), token: 'a-token-that-is-in-use-and-long-enough' },
        unique('token', '**********'),
      ],
      ['id in use', { email: address(), id: taken.id.toUpperCase() }, unique('id', taken.id.toUpperCase())],
      [
        'external identifier in use',
        { email: address(), provider: 'github', external_identifier: 'Octocat' },
        unique('external_identifier', 'Octocat'),
      ],
      ['status suspicious', { email: address(), status: 'suspicious' }, badStatus],
      ['status in capitals', { email: address(), status: 'Active' }, badStatus],
      ['status null', { email: address(), status: null }, badStatus],
      ['status empty', { email: address(), status: '' }, badStatus],
      [
        'an unknown role',
        { email: address(), role: nobody },
        ['INVALID_FOREIGN_KEY', { collection: 'users', field: 'role', value: nobody }],
      ],
      [
        'an unknown policy',
        { email: address(), policies: [policy, nobody] },
        ['INVALID_FOREIGN_KEY', { collection: 'users', field: 'policies', value: nobody }],
      ],
      ['an empty password', { email: address(), password: '' }, ['FAILED_VALIDATION', { field: 'password' }]],
      ['a password too long', { email: address(), password: long(1025) }, tooLong('password', '**********')],
      ['a token too long', { email: address(), token: long(256) }, tooLong('token', '**********')],
      ...['', 'x', long(31), '💥'.repeat(16)].map((token): [string, object, readonly [ErrorCode, Extensions?]] => [
        `the short token ${token}`,
        { email: address(), token },
        ['FAILED_VALIDATION', { field: 'token', type: 'min_length', valid: 32, path: [] }],
      ]),
      ['a token that is not a valid header value', { email: address(), token: `with a space ${long(32)}` }, wrongType],
      ['tfa_secret', { email: address(), tfa_secret: 'GEZDGNBVGY3TQOJQ' }, wrongType],
      ...(
        [
          ['tags', Array.from({ length: 101 }, () => 'x')],
          ['tags', [long(101)]],
          ['auth_data', { a: long(64 * 1024) }],
          ['theme_light_overrides', { a: long(16 * 1024) }],
          ['theme_dark_overrides', { a: '\u20ac'.repeat(6000) }],
          ['avatar', `https://example.com/${long(240)}`],
        ] as const
      ).map(([field, value]): [string, object, readonly [ErrorCode, Extensions?]] => [
        `${field} too long`,
        { email: address(), [field]: value },
        ['VALUE_TOO_LONG', { collection: 'users', field }],
      ]),
      ['provider null', { email: address(), provider: null }, ['NOT_NULL_VIOLATION', { field: 'provider' }]],
      ['id null', { email: address(), id: null }, ['NOT_NULL_VIOLATION', { collection: 'users', field: 'id' }]],
      [
        'notifications null',
        { email: address(), email_notifications: null },
        ['NOT_NULL_VIOLATION', { field: 'email_notifications' }],
      ],
      ...Object.entries({
        first_name: 50,
        last_name: 50,
        title: 50,
        provider: 128,
        location: 255,
        language: 255,
        last_page: 255,
        external_identifier: 255,
        description: 10_000,
        appearance: 255,
        theme_dark: 255,
        theme_light: 255,
      }).map(([field, length]): [string, object, readonly [ErrorCode, Extensions?]] => [
        `${field} too long`,
        { email: address(), [field]: long(length + 1) },
        tooLong(field, long(length + 1)),
      ]),
      ...Object.entries({
        email: [1, true, [], {}],
        password: [1, [], {}],
        first_name: [1, false, ['A'], { a: 1 }],
        description: [1],
        tags: ['a', [1], {}, [null]],
        avatar: [
          'x',
          1,
          '',
          'http://example.com/a.png',
          'javascript:alert(1)',
          'data:image/png;base64,AAAA',
          '//example.com/a.png',
          'https:',
          'https://',
          'https://a b.example.com/',
          ' https://example.com/a.png',
          'https://example.com/\na.png',
        ],
        id: ['x', 1, [], ''],
        status: [1, ['active']],
        role: ['x', 1, {}, '', []],
        policies: ['x', policy, [1], ['x'], {}, [[policy]], [{ id: policy, name: 'x' }]],
        token: [1, []],
        last_access: ['yesterday', 1, '2026-02-30', '2026-13-01', '0000-01-01', '2026-01-01T99:00:00Z', ''],
        auth_data: ['x', [], 1],
        email_notifications: ['true', 1],
        theme_light_overrides: ['x', []],
      }).flatMap(([field, values]) =>
        values.map((value): [string, object, readonly [ErrorCode, Extensions?]] => [
          `${field} ${JSON.stringify(value)}`,
          { email: address(), [field]: value },
          wrongType,
        ]),
      ),
    ];
    for (const [what, payload, error] of alone) {
      await refusedUnchanged(t, service, () => post('/users', payload, asAdmin), error, what);
      if (error[0] === 'INVALID_PAYLOAD') continue;
      const list = [good(), { password: 'a fine password', ...payload }];
      await refusedUnchanged(t, service, () => post('/users', list, asAdmin), error, `${what}, second of two`);
    }

    const sameId = randomUUID();
    const many: [what: string, payload: object, readonly [ErrorCode, Extensions?]][] = [
      ['no password in a list', [good(), { email: address() }], ['INVALID_PAYLOAD']],
      ['password null in a list', [good(), { ...good(), password: null }], ['INVALID_PAYLOAD']],
      ['no password in data', { data: [{ email: address() }] }, ['INVALID_PAYLOAD']],
      ['an item that is not an object', [good(), 'x'], ['INVALID_PAYLOAD']],
      ['a list in a list', [[good()]], ['INVALID_PAYLOAD']],
      ['null in a list', [null], ['INVALID_PAYLOAD']],
      ['data and more', { data: [good()], email: address() }, ['INVALID_PAYLOAD']],
      ['data of one', { data: good() }, ['INVALID_PAYLOAD']],
      [
        'the same address twice',
        [{ ...good(), email: 'twice@example.com' }, good(), { ...good(), email: 'Twice@example.com' }],
        unique('email', 'Twice@example.com'),
      ],
      [
        'the same token twice',
        [
          { ...good(), token: 'the-same-token-for-both-of-these-users' },
          { ...good(), token: 'the-same-token-for-both-of-these-users' },
        ],
        unique('token', '**********'),
      ],
      [
        'the same id twice',
        [
          { ...good(), id: sameId },
          { ...good(), id: sameId.toUpperCase() },
        ],
        unique('id', sameId.toUpperCase()),
      ],
      ['too many', Array.from({ length: 21 }, good), ['INVALID_PAYLOAD']],
    ];
    for (const [what, payload, error] of many) {
      await refusedUnchanged(t, service, () => post('/users', payload, asAdmin), error, what);
    }
    const queries: [string, ErrorCode][] = [
      ['fields=nickname', 'FORBIDDEN'],
      ['fields=password', 'FORBIDDEN'],
      ['meta=everything', 'INVALID_QUERY'],
    ];
    for (const [query, code] of queries) {
      await refusedUnchanged(t, service, () => post(`/users?${query}`, good(), asAdmin), [code], query);
    }
    const most = await post('/users', Array.from({ length: 20 }, good), asAdmin);
    t.equal(most.statusCode, 200, 'the maximum number of users');
  });

  t.test('a password must match the password policy', async (t) => {
    await app.db.update(settings).set({ authPasswordPolicy: '^.{8,}[0-9]$' });
    const error = ['FAILED_VALIDATION', { field: 'password', type: 'regex', path: [] }] as const;
    const weak = { email: address(), password: 'too weak' };
    await refusedUnchanged(t, service, () => post('/users', weak, asAdmin), error, 'alone');
    const list = [{ email: address(), password: 'good enough 1' }, weak];
    await refusedUnchanged(t, service, () => post('/users', list, asAdmin), error, 'in a list');
    t.equal((await post('/users', { ...weak, password: 'good enough 1' }, asAdmin)).statusCode, 200);
    t.equal((await post('/users', { email: address() }, asAdmin)).statusCode, 200, 'no password is required');
    await app.db.update(settings).set({ authPasswordPolicy: null });
  });
});

t.test('creating users by permission', async (t) => {
  const service = await startWithAdmin(t);
  const { app, post } = service;
  let count = 0;
  const address = () => `member-${++count}@example.com`;
  const member = async (name: string, ...grants: Omit<typeof permissions.$inferInsert, 'policy' | 'collection'>[]) => {
    const policy = await createPolicy(app);
    for (const grant of grants) await app.db.insert(permissions).values({ policy, collection: 'users', ...grant });
    await createUser(app, { token: name, policies: [policy] });
    return bearer(name);
  };
  const nobody = await member('may-do-nothing', { action: 'read', fields: ['*'] });
  const creator = await member('may-create', { action: 'create', fields: ['email', 'first_name', 'password'] });
  const all = await member('may-create-all', { action: 'create', fields: ['*'] });
  const drafts = await member(
    'may-create-drafts-and-sees-the-A',
    {
      action: 'create',
      fields: ['email', 'password', 'first_name'],
      presets: { status: 'draft', first_name: 'Preset', last_name: 'Preset' },
      validation: { first_name: { _neq: 'Bad' } },
    },
    { action: 'read', fields: ['id', 'first_name'], permissions: { first_name: { _starts_with: 'A' } } },
  );
  const stored = async (email: string) => (await app.db.select().from(users).where(eq(users.email, email)))[0];

  t.test('a caller without the right, or with other fields, gets 403, and no user is created', async (t) => {
    const bad: [string, object, Record<string, string>][] = [
      ['no right', { email: address() }, nobody],
      ['no right, in a list', [{ email: address(), password: 'a fine password' }], nobody],
      ['no right, an empty list', [], nobody],
      ['anonymous', { email: address() }, {}],
      ['a field that is not granted', { email: address(), last_name: 'x' }, creator],
      ['a status', { email: address(), status: 'active' }, creator],
      ['a preset field that may not be written', { email: address(), last_name: 'x' }, drafts],
      ['role', { email: address(), role: null }, all],
      ['policies', { email: address(), policies: [] }, all],
      ['token', { email: address(), token: 'a-token-of-theirs-that-is-long-enough' }, all],
    ];
    for (const [what, payload, headers] of bad) {
      await refusedUnchanged(t, service, () => post('/users', payload, headers), ['FORBIDDEN'], what);
    }
    for (const field of ['provider', 'external_identifier']) {
      const send = () => post('/users', { email: address(), [field]: 'x' }, all);
      await refusedUnchanged(t, service, send, ['INVALID_PAYLOAD'], field);
    }
  });

  t.test('a caller who cannot read users gets 204 for one user, and an empty list for many', async (t) => {
    const email = address();
    const one = await post('/users', { email, first_name: 'A' }, creator);
    t.equal(one.statusCode, 204);
    t.equal(one.body, '');
    t.equal(one.headers['content-type'], undefined);
    t.equal((await stored(email))?.firstName, 'A');
    const many = await post('/users', [{ email: address(), password: 'a fine password' }], creator);
    t.equal(many.statusCode, 200);
    t.strictSame(many.json().data, []);
  });

  t.test('the response omits rows that the caller cannot read', async (t) => {
    const items = ['A1', 'B', 'A2'].map((first_name) => ({
      email: address(),
      password: 'a fine password',
      first_name,
    }));
    const many = await post('/users?fields=first_name', items, drafts);
    t.strictSame(many.json(), { data: [{ first_name: 'A1' }, { first_name: 'A2' }] });
    t.equal((await post('/users', { email: address(), first_name: 'B' }, drafts)).statusCode, 204);
    t.equal((await post('/users', { email: address(), first_name: 'A' }, drafts)).statusCode, 200);
  });

  t.test('given values override presets', async (t) => {
    const email = address();
    await post('/users', { email, first_name: 'Given' }, drafts);
    t.match(await stored(email), { firstName: 'Given', lastName: 'Preset', status: 'draft' });
    const other = address();
    await post('/users', { email: other }, drafts);
    t.match(await stored(other), { firstName: 'Preset', lastName: 'Preset', status: 'draft' });
  });

  t.test('every item must pass the validation of the permission', async (t) => {
    const error = ['FAILED_VALIDATION', { field: 'first_name', path: [] }] as const;
    const bad = { email: address(), password: 'a fine password', first_name: 'Bad' };
    await refusedUnchanged(t, service, () => post('/users', bad, drafts), error, 'one');
    const list = [{ ...bad, email: address(), first_name: 'A' }, bad];
    await refusedUnchanged(t, service, () => post('/users', list, drafts), error, 'many');
  });
});
