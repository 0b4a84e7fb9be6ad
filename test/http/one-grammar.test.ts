// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries hundreds of cases

import { eq, like } from 'drizzle-orm';
import t from 'tap';
import { settings, users } from '../../db/schema.js';
import { mailsTo } from '../helpers/mail/mails.js';
import { apiDocument } from '../helpers/openapi/document.js';
import { allOperations } from '../helpers/openapi/operations.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken, storedUser } from '../helpers/users/users.js';

// An address, an ID, or a date that one operation accepts is accepted by all, and what one refuses is refused by all.

const service = await startTestApp(t, { REGISTRATION_ANSWER_TIME: '1ms' });
const { app, get, post, request } = service;
await app.db.update(settings).set({ publicRegistration: true, emailLogin: true, publicRegistrationVerifyEmail: false });
const policy = await createPolicy(app, { adminAccess: true });
const admin = await createUserWithToken(app, { policies: [policy] });
const session = await openSession(app, admin.id);
const role = await createRole(app);
const password = 'a password that is long enough';
const binding = 'b'.repeat(32);

const ascii = 'max@xn--mller-kva.example';
const umlaut = ['max@müller.example', 'MAX@MÜLLER.EXAMPLE', 'max@mu\u0308ller.example', 'max@müller。example', ascii];

const refusedAddresses = [
  'foo..bar@docomo.example',
  '.foo@docomo.example',
  'foo.@docomo.example',
  'foo@docomo..example',
  'foo@.example',
  'foo@example.',
  'foo@-example.example',
  'foo@exam_ple.example',
  'müller@example.com',
  '"foo bar"@example.com',
  'foo(comment)@example.com',
  'foo\u0000@example.com',
  'foo@example\u0000.com',
  'foo@exa\u007fmple.com',
  'foo@\ud800.example',
  'foo@mül%6cer.example',
  'foo@mül/ler.example',
  'foo@mül:80.example',
  'foo@mül／ler.example',
  'foo@mü ller.example',
  'foo@müller.example.',
  'foo@xn--.müller.example',
  'foo@١٢.é.1',
  'foo@exampⅼe.com',
  'foo@１２７.0.0.1',
  'foo@[::1]',
  'foo',
  '@',
  `${'f'.repeat(120)}@example.com`,
  // Shorter than the limit, but not in ASCII form.
  `${'f'.repeat(100)}@${'ü'.repeat(20)}.example`,
];

t.test('what no account can have as its address is refused by every operation, with the same reason', async (t) => {
  const accepting = allOperations({ id: admin.id }).filter(({ fields }) => fields.has('email'));
  t.ok(accepting.length >= 12);
  for (const email of refusedAddresses) {
    const reasons = new Set<string>();
    for (const { operationId, method, url, fields } of accepting) {
      // Accepts any text, so that its response reveals nothing.
      if (operationId === 'requestPasswordReset') continue;
      const others = {
        ...(fields.has('password') && !operationId.startsWith('update') ? { password } : {}),
        ...(operationId === 'invite' ? { role } : {}),
        ...(operationId === 'loginWithEmail' ? { code: '123456', binding } : {}),
        ...(operationId === 'requestEmailLogin' ? { binding } : {}),
      };
      const headers = ['login', 'loginWithEmail'].includes(operationId) ? {} : session;
      const response = await request({ method, url, payload: { email, ...others }, headers });
      t.equal(response.statusCode, 400, `${operationId}: ${JSON.stringify(email).slice(0, 50)}`);
      const [{ message, extensions }] = response.json().errors;
      const { code, reason, field, type } = extensions;
      if (code === 'INVALID_PAYLOAD') reasons.add(reason);
      else if (code !== 'VALUE_TOO_LONG') {
        t.match({ code, field, type }, { code: 'FAILED_VALIDATION', field: 'email', type: 'email' });
        reasons.add(message);
      }
    }
    t.equal(reasons.size, 1, `one reason: ${[...reasons].join(' | ')}`);
  }
  const list = [
    { email: 'good@example.com', password },
    { email: 'foo..bar@docomo.example', password },
  ];
  for (const payload of [list, { data: list }]) {
    t.equal(codeOf(await post('/users', payload, session)), 'FAILED_VALIDATION', 'in a list');
  }
  t.equal(
    codeOf(await post('/users/invite', { email: ['good@example.com', 'foo..bar@docomo.example'], role }, session)),
    'INVALID_PAYLOAD',
    'in a list of invitations',
  );
  t.strictSame(await app.db.select().from(users).where(like(users.email, '%foo%')), []);
});

t.test('a Unicode domain and its ASCII form are one address', async (t) => {
  const created = await post('/users', { email: umlaut[0], password }, session);
  t.equal(created.json().data.email, ascii);
  const { id } = created.json().data;
  for (const email of umlaut) {
    const what = JSON.stringify(email);
    t.equal((await post('/auth/login', { email, password })).statusCode, 200, `login: ${what}`);
    t.equal(codeOf(await post('/users', { email, password }, session)), 'RECORD_NOT_UNIQUE', `create: ${what}`);
    t.equal((await post('/users/register', { email, password })).statusCode, 204, `register: ${what}`);
    t.equal((await post('/users/invite', { email: [email], role }, session)).statusCode, 204, `invite: ${what}`);
    t.equal((await post('/auth/password/check', { email, password })).statusCode, 200, `check: ${what}`);
    for (const path of ['/auth/password/request', '/users/register/resend', '/auth/email/request']) {
      const body = { email, ...(path === '/auth/email/request' ? { binding } : {}) };
      t.equal((await post(path, body)).statusCode, 204, `${path}: ${what}`);
    }
    const filter = encodeURIComponent(JSON.stringify({ email: { _eq: email.toLowerCase() } }));
    const found = await get(`/users?fields=id&filter=${filter}`, session);
    t.strictSame(found.json().data, [{ id }], `filter: ${what}`);
  }
  const mails = await mailsTo(app, ascii);
  t.ok(mails.some(({ to }) => to === ascii));
  t.equal((await app.db.select().from(users).where(like(users.email, '%max@%'))).length, 1, 'one account');

  const { id: other } = await createUser(app);
  const headers = { ...session };
  const changed = await request({
    method: 'PATCH',
    url: `/users/${other}`,
    headers,
    payload: { email: 'eva@faß.example' },
  });
  t.equal(changed.json().data.email, 'eva@xn--fa-hia.example', 'an update');
  const many = { keys: [other], data: { email: 'eva@例え.テスト' } };
  t.equal((await request({ method: 'PATCH', url: '/users', headers, payload: many })).statusCode, 200);
  t.match(await app.db.select().from(users).where(eq(users.id, other)), [{ email: 'eva@xn--r8jz45g.xn--zckzah' }]);
  for (const query of [
    'search=EVA@例え.テスト',
    'filter[email][_contains]=va@例え.テスト',
    'filter[email][_starts_with]=eva@例え.テスト',
    'filter[email][_ends_with]=@例え.テスト',
    'filter[email][_iends_with]=@例え.テスト',
  ]) {
    const found = await get(`/users?fields=id&${encodeURI(query)}`, session);
    t.strictSame(found.json().data, [{ id: other }], query);
  }
});

t.test('an address that is already stored works, even if it would be refused today', async (t) => {
  for (const email of ['foo..bar@docomo.example', '.foo@docomo.example', 'Müller@example.com', 'max@Öl.example']) {
    const account = await createUser(app, { email });
    for (const typed of [email, email.toLowerCase().replace('ö', 'Ö').replace('ü', 'ü')]) {
      t.equal((await post('/auth/login', { email: typed, password: account.password })).statusCode, 200, typed);
    }
    t.equal(codeOf(await post('/auth/login', { email, password: 'wrong' })), 'INVALID_CREDENTIALS');
    t.equal((await post('/auth/email/request', { email, binding })).statusCode, 204);
    t.equal((await post('/auth/password/request', { email })).statusCode, 204);
    const subjects = (await mailsTo(app, email)).map(({ text }) => text);
    t.equal(subjects.length, 2, `${email}: sign-in by email and a password reset`);
    const code = subjects.map((text) => /\b\d{6}\b/.exec(text)?.[0]).find(Boolean);
    t.equal((await post('/auth/email', { email, code, binding })).statusCode, 200, 'with the code from the email');
  }
});

t.test('an address that is already stored can be sent back unchanged', async (t) => {
  const email = 'bar..foo@docomo.example';
  const own = await policyWith(
    app,
    (['read', 'update'] as const).map((action) => ({ collection: 'users', action, fields: ['*'] })),
  );
  const { id } = await createUser(app, { email, policies: [own] });
  const before = await storedUser(app, id);
  for (const [headers, path] of [
    [session, `/users/${id}`],
    [await openSession(app, id), '/users/me'],
  ] as const) {
    const update = (payload: object) => request({ method: 'PATCH', url: path, headers, payload });
    const title = `by ${path}`;
    const changed = await update({ email, title });
    t.match(changed.json().data, { email, title }, path);
    t.match(await storedUser(app, id), { ...before, title }, 'nothing else');
    const refusal = await update({ email: 'baz..foo@docomo.example', title: 'x' });
    t.match(refusal.json().errors[0].extensions, { code: 'FAILED_VALIDATION', field: 'email' }, 'another address');
    t.match(await storedUser(app, id), { email, title });
  }
});

t.test('ADMIN_EMAIL follows the same rule', async (t) => {
  for (const [ADMIN_EMAIL, email] of [
    ['admin@localhost', 'admin@localhost'],
    ['admin@müller.example', 'admin@xn--mller-kva.example'],
  ] as const) {
    const own = await startTestApp(t, { ADMIN_EMAIL });
    for (const typed of [ADMIN_EMAIL, email]) {
      t.equal(
        (await own.post('/auth/login', { email: typed, password: administrator.password })).statusCode,
        200,
        typed,
      );
    }
    t.equal(own.app.createdAdministrator?.email, email);
  }
});

const malformedIds = (id: string) => [
  `urn:uuid:${id}`,
  `URN:UUID:${id}`,
  `{${id}}`,
  id.replaceAll('-', ''),
  ` ${id}`,
  `${id} `,
  `${id}\n`,
  `${id}\u0000`,
  `${id.slice(0, -1)}１`,
  `${id}${id}`,
  id.replace('-', '–'),
  'x'.repeat(5_000),
  '7',
  '\u0000',
];

t.test('a malformed ID in a path is treated like one that does not exist', async (t) => {
  const { paths } = apiDocument() as unknown as {
    paths: Record<string, Record<string, { requestBody?: object }>>;
  };
  const holder = await createUser(app);
  let tried = 0;
  for (const [path, methods] of Object.entries(paths)) {
    if (!/\{(?!provider\})\w+\}/.test(path) || path.includes('mailbox') || path.includes('/permissions/')) continue;
    for (const [method, operation] of Object.entries(methods)) {
      // Here, the ID is the key of a provider.
      if (path === '/users/me/identities/{id}' && method === 'post') continue;
      for (const id of malformedIds(holder.id)) {
        const url = path.replace(/\{(?!provider\})\w+\}/g, encodeURIComponent(id)).replace('{provider}', 'nobody');
        const payload = operation.requestBody ? { payload: { name: 'x' } } : {};
        const response = await request({ method: method.toUpperCase() as 'GET', url, headers: session, ...payload });
        t.ok(
          [403, 404].includes(response.statusCode),
          `${method} ${path}: ${JSON.stringify(id).slice(0, 60)} ${response.statusCode}`,
        );
        tried++;
      }
    }
  }
  t.ok(tried > 100, `${tried} requests`);
});

t.test('a malformed ID in keys, a relation, or a filter is refused', async (t) => {
  const { id } = await createUser(app);
  t.equal(
    (await request({ method: 'PATCH', url: `/users/${id.toUpperCase()}`, headers: session, payload: { title: 'x' } }))
      .statusCode,
    200,
    'capital letters are valid',
  );
  for (const malformed of malformedIds(id)) {
    const what = JSON.stringify(malformed).slice(0, 60);
    const send = async (method: string, url: string, payload: object) =>
      (await request({ method: method as 'PATCH', url, headers: session, payload })).statusCode;
    // Text with a NUL character is refused before the keys are read.
    const isRefused = (status: number, request: string) =>
      t.equal(status, malformed.includes('\0') ? 400 : 403, request);
    for (const collection of ['users', 'roles', 'policies']) {
      isRefused(await send('DELETE', `/${collection}`, [malformed]), `DELETE /${collection} ${what}`);
      isRefused(await send('DELETE', `/${collection}`, { keys: [malformed] }), `DELETE /${collection} keys ${what}`);
      isRefused(
        await send('PATCH', `/${collection}`, { keys: [malformed], data: { name: 'x' } }),
        `PATCH /${collection} keys ${what}`,
      );
    }
    isRefused(await send('PATCH', '/users', { keys: [malformed], data: { title: 'x' } }), `PATCH /users keys ${what}`);
    isRefused(await send('PATCH', '/users', [{ id: malformed, title: 'x' }]), `PATCH /users list ${what}`);
    for (const [url, payload] of [
      ['/users', { email: 'new@example.com', id: malformed }],
      ['/users', { email: 'new@example.com', role: malformed }],
      ['/users', { email: 'new@example.com', policies: [malformed] }],
      ['/roles', { name: 'x', parent: malformed }],
      ['/roles', { name: 'x', policies: [malformed] }],
      ['/permissions', { policy: malformed, collection: 'users', action: 'read' }],
      ['/users/invite', { email: 'new@example.com', role: malformed }],
    ] as const) {
      t.equal(await send('POST', url, payload), 400, `POST ${url} ${what}`);
    }
    t.equal(await send('PATCH', '/settings', { public_registration_role: malformed }), 400, `PATCH /settings ${what}`);
    const filters = [
      { id: { _eq: malformed } },
      { id: { _in: [malformed] } },
      { role: { _neq: malformed } },
      { role: { id: { _eq: malformed } } },
    ];
    for (const filter of filters) {
      t.equal(
        await send('SEARCH', '/users', { query: { filter } }),
        400,
        `SEARCH /users ${JSON.stringify(filter).slice(0, 60)}`,
      );
    }
  }
});

t.test('a date is valid in filters and in bodies, or in neither', async (t) => {
  const { id } = await createUser(app);
  const notations: [unknown, boolean][] = [
    ...[
      ...['2026-01-31', '2026-01-31T12:00', '2026-01-31T12:00:00', '2026-01-31 12:00:00', '2026-01-31T12:00:00Z'],
      ...[
        '2026-01-31T12:00:00.123456Z',
        '2026-01-31T12:00:00+02:00',
        '2026-01-31T12:00:00-0330',
        '0001-01-01',
        '9999-12-31',
      ],
      '2024-02-29',
    ].map((date): [string, boolean] => [date, true]),
    ...[
      ...[
        '2025-02-29',
        '2026-02-30',
        '2026-13-01',
        '2026-00-01',
        '2026-01-32',
        '0000-01-01',
        '10000-01-01',
        '+10000-01-01',
      ],
      ...[
        '-0001-01-01',
        '2026-01-31T24:00:01Z',
        '2026-01-31T12:60:00Z',
        '2016-12-31T23:59:60Z',
        '2026-01-31T12:00:00+99:00',
      ],
      ...['9999-12-31T23:59:59-01:00', '0001-01-01T00:00:00+01:00', '2026-W05-6', '2026-031', '20260131', '31.01.2026'],
      ...[
        '01/31/2026',
        'infinity',
        '-infinity',
        'now',
        'today',
        'epoch',
        'allballs',
        '1738324800',
        '1738324800000',
        '2026',
      ],
      ...[
        '2026-01-31T12:00:00[UTC]',
        '2026-01-31T12:00:00Z\u0000',
        '２０２６-01-31',
        ' 2026-01-31',
        '2026-01-31T',
        'x'.repeat(5_000),
      ],
    ].map((date): [string, boolean] => [date, false]),
    [1_738_324_800, false],
    [1e300, false],
    [true, false],
    [{}, false],
  ];
  for (const [date, isValid] of notations) {
    const what = JSON.stringify(date).slice(0, 60);
    const body = { last_access: date };
    const written = await request({ method: 'PATCH', url: `/users/${id}`, headers: session, payload: body });
    t.equal(written.statusCode, isValid ? 200 : 400, `a body: ${what}`);
    for (const filter of [
      { last_access: { _lt: date } },
      { last_access: { _between: [date, date] } },
      { created_at: { _gte: date } },
      { last_access: { _in: [date] } },
    ]) {
      const found = await request({
        method: 'SEARCH' as 'GET',
        url: '/users',
        headers: session,
        payload: { query: { filter } },
      });
      t.equal(found.statusCode, isValid ? 200 : 400, `a filter: ${JSON.stringify(filter).slice(0, 80)}`);
    }
    if (typeof date !== 'string') continue;
    const query = encodeURIComponent(JSON.stringify({ timestamp: { _gte: date } }));
    t.equal(
      (await get(`/activity?filter=${query}`, session)).statusCode,
      isValid ? 200 : 400,
      `the audit log: ${what}`,
    );
    const rule = { policy, collection: 'users', action: 'read', permissions: { last_access: { _lt: date } } };
    t.equal((await post('/permissions', rule, session)).statusCode, isValid ? 200 : 400, `a rule: ${what}`);
  }
});
