import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { roles, sessions, users } from '../../db/schema.js';
import { userStatuses } from '../../schemas/users.js';
import { engine } from '../helpers/database/databases.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';
import { administrator, userPassword } from '../helpers/users/credentials.js';
import { cookieOf } from '../helpers/users/sessions.js';
import { codeOfStep, stepLength, stepOf } from '../helpers/users/totp.js';
import { changeUser, createUser, deleteUser, lastAccessOf } from '../helpers/users/users.js';

const { app, clock, post, get, request } = await startTestApp(t);
const sessionCount = () => app.db.$count(sessions);
const sessionsOf = (user: string) => app.db.select().from(sessions).where(eq(sessions.user, user));

t.test('each mode returns its tokens in its own place', async (t) => {
  for (const mode of [undefined, 'json']) {
    t.test(`mode json returns the tokens in the body, ${mode ? 'if requested' : 'by default'}`, async (t) => {
      const response = await post('/auth/login', { ...administrator, ...(mode ? { mode } : {}) });
      t.equal(response.statusCode, 200);
      t.equal(response.headers['content-type'], 'application/json; charset=utf-8');
      t.equal(response.headers['set-cookie'], undefined);
      const { data, ...rest } = response.json();
      t.strictSame(rest, {});
      t.strictSame(Object.keys(data).sort(), ['access_token', 'expires', 'refresh_token']);
      t.equal(data.expires, 900_000, 'milliseconds');
      t.match(data.refresh_token, /^[A-Za-z0-9_-]{64}$/);
      t.equal((await get('/users/me', bearer(data.access_token))).json().data.email, administrator.email);
      t.equal((await post('/auth/refresh', { refresh_token: data.refresh_token })).statusCode, 200);
    });
  }

  t.test('mode cookie sets the refresh token as a cookie', async (t) => {
    const response = await post('/auth/login', { ...administrator, mode: 'cookie' });
    t.equal(response.statusCode, 200);
    const { data } = response.json();
    t.strictSame(Object.keys(data).sort(), ['access_token', 'expires']);
    t.equal(data.expires, 900_000);
    const cookies = setCookies(response);
    t.strictSame(Object.keys(cookies), ['gatehouse_refresh_token']);
    t.strictSame(cookies.gatehouse_refresh_token?.attributes, ['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Lax']);
    const token = cookies.gatehouse_refresh_token?.value ?? '';
    t.match(token, /^[A-Za-z0-9_-]{64}$/);
    t.equal((await get('/users/me', bearer(data.access_token))).json().data.email, administrator.email);
    const refreshed = await post('/auth/refresh', {}, { cookie: `gatehouse_refresh_token=${token}` });
    t.equal(refreshed.statusCode, 200);
  });

  t.test('mode session sets the session token as a cookie', async (t) => {
    const response = await post('/auth/login', { ...administrator, mode: 'session' });
    t.equal(response.statusCode, 200);
    t.strictSame(response.json(), { data: { expires: 86_400_000 } });
    const cookies = setCookies(response);
    t.strictSame(Object.keys(cookies), ['gatehouse_session_token']);
    t.strictSame(cookies.gatehouse_session_token?.attributes, ['HttpOnly', 'Max-Age=86400', 'Path=/', 'SameSite=Lax']);
    const token = cookies.gatehouse_session_token?.value ?? '';
    const me = await get('/users/me', { cookie: `gatehouse_session_token=${token}` });
    t.equal(me.json().data.email, administrator.email);
  });

  t.test('each login creates its own session (CVE-2023-29019)', async (t) => {
    const { email, password, id } = await createUser(app);
    const tokens = await Promise.all(
      ['json', 'json', 'cookie', 'session'].map(async (mode) => {
        const response = await post('/auth/login', { email, password, mode });
        const token = response.json().data.access_token ?? setCookies(response).gatehouse_session_token?.value;
        return decodeJwt(token).claims.session;
      }),
    );
    t.equal(new Set(tokens).size, 4);
    t.strictSame((await sessionsOf(id)).map((session) => session.id).sort(), tokens.sort());
  });

  t.test('a trailing slash is accepted', async (t) => {
    t.equal((await post('/auth/login/', administrator)).statusCode, 200);
  });
});

t.test('a login never continues a session that the browser already has (CVE-2023-29019)', async (t) => {
  const [attacker, victim] = [await createUser(app), await createUser(app, { tfa: true })];
  const brought = async (mode: 'cookie' | 'session') => {
    const planted = cookieOf(await post('/auth/login', { ...attacker, mode }), mode);
    if (!planted) throw new Error('The attacker has no session.');
    return planted;
  };
  let begun = 0;
  for (const mode of ['cookie', 'session'] as const) {
    const planted = await brought(mode);
    for (const value of [planted.value, '']) {
      const cookie = { cookie: `${planted.name}=${value}` };
      const before = await sessionsOf(attacker.id);
      const waiting = await post('/auth/login', { ...victim, mode }, cookie);
      refused(t, waiting, 'INVALID_OTP', `${mode}: the first of two steps`);
      t.strictSame(
        waiting.cookies.filter((one) => one.value !== ''),
        [],
        'sets no cookie',
      );
      clock.advance(stepLength);
      const otp = codeOfStep(stepOf(clock.now()));
      const response = await post('/auth/login', { ...victim, mode, otp }, cookie);
      t.equal(response.statusCode, 200, `${mode}: ${value.slice(0, 10)}: ${response.body}`);
      t.not(cookieOf(response, mode)?.value, value, 'the session token is a new one');
      t.strictSame(await sessionsOf(attacker.id), before, 'the session that the browser had is unchanged');
      const mine = await sessionsOf(victim.id);
      t.equal(
        new Set([...mine, ...before].map(({ id }) => id)).size,
        mine.length + before.length,
        'the sessions are different',
      );
      t.equal(mine.length, ++begun, 'one new session for each login');
    }
  }
});

t.test('valid input is accepted', async (t) => {
  t.test('the email address is accepted in any letter case, however it is stored', async (t) => {
    const { password } = await createUser(app, { email: 'Mixed.Case+Tag@Example.COM' });
    for (const email of ['Mixed.Case+Tag@Example.COM', 'mixed.case+tag@example.com', 'MIXED.CASE+TAG@EXAMPLE.COM']) {
      t.equal((await post('/auth/login', { email, password })).statusCode, 200, email);
    }
    refused(t, await post('/auth/login', { email: 'mixed.case@example.com', password }), 'INVALID_CREDENTIALS', 'tag');
  });

  t.test('unknown keys are ignored', async (t) => {
    const extras = { id: 1, share: null, user: { admin: true }, remember_me: 'yes', toString: 1, refresh_token: 5 };
    t.equal((await post('/auth/login', { ...administrator, ...extras })).statusCode, 200);
  });

  t.test('a one-time password that is not required is ignored', async (t) => {
    t.equal((await post('/auth/login', { ...administrator, otp: 'anything' })).statusCode, 200);
  });

  t.test('passwords with any characters and of any length are compared in full', async (t) => {
    for (const password of [' ', 'pässwörd 🔑 пароль', `${'x'.repeat(5000)}y`]) {
      const { email } = await createUser(app, { password: await app.passwords.hash(password) });
      t.equal((await post('/auth/login', { email, password })).statusCode, 200, 'correct');
      for (const wrong of [`${password} `, password.slice(0, -1) || 'x', password.toUpperCase().trim() || '  ']) {
        refused(t, await post('/auth/login', { email, password: wrong }), 'INVALID_CREDENTIALS', 'wrong');
      }
    }
  });
});

t.test('a malformed body returns 400 INVALID_PAYLOAD and creates no session', async (t) => {
  const before = await sessionCount();
  const { email, password } = administrator;
  const notText = [null, 0, 1, true, false, [], ['x'], {}, { $ne: '' }];
  const illFormed = [
    '',
    ' ',
    'plain',
    '@example.com',
    'admin@',
    'admin@@example.com',
    'a@b@example.com',
    ` ${email}`,
    `${email} `,
    `${email}\n`,
    `${email}\r\nBcc: other@example.com`,
    `${email},other@example.com`,
    `Admin <${email}>`,
    'admin@example..com',
    'admin@.example.com',
    'admin@-example.com',
    'ad min@example.com',
    '"ad min"@example.com',
    'admin@[127.0.0.1]',
    'ädmin@example.com',
    'admin@example.com\u200b',
    `${'a'.repeat(117)}@example.com`,
  ];
  const bodies: object[] = [
    {},
    { email },
    { password },
    { email: undefined, password },
    { Email: email, Password: password },
    { data: { email, password } },
    [],
    [{ email, password }],
    [email, password],
    ...notText.flatMap((value) => [
      { email: value, password },
      { email, password: value },
    ]),
    ...illFormed.map((value) => ({ email: value, password })),
    { email, password: '' },
    ...[...notText, '', 'JSON', 'json ', 'cookies', 'Session', 'toString'].map((mode) => ({ email, password, mode })),
    ...[...notText, 123456, ''].map((otp) => ({ email, password, otp })),
    { email, password: `${password}\0` },
    { email, password: '\ud800' },
    { email: `${email}\0`, password },
    { email, password, otp: '\udc00' },
  ];
  for (const body of bodies) refused(t, await post('/auth/login', body), 'INVALID_PAYLOAD', JSON.stringify(body));

  const json = JSON.stringify(administrator);
  const form = new URLSearchParams(administrator).toString();
  const raw: [what: string, type: string | undefined, payload: string | Buffer | undefined][] = [
    ['no body', undefined, undefined],
    ['an empty body', 'application/json', ''],
    ['a form', 'application/x-www-form-urlencoded', form],
    ['JSON declared as text', 'text/plain', json],
    ['JSON without a content type', undefined, json],
    ['truncated JSON', 'application/json', json.slice(0, -1)],
    ['two JSON documents', 'application/json', json + json],
    ['null', 'application/json', 'null'],
    ['a number', 'application/json', '1'],
    ['a text', 'application/json', '"email"'],
    ['single quotes', 'application/json', `{'email':'${email}','password':'${password}'}`],
    ['bytes that are not UTF-8', 'application/json', Buffer.from(json.replace('admin', '\xe9'), 'latin1')],
    [
      'a body that is too large',
      'application/json',
      JSON.stringify({ ...administrator, more: 'x'.repeat(1024 * 1024) }),
    ],
  ];
  for (const [what, type, payload] of raw) {
    const response = await request({
      method: 'POST',
      url: '/auth/login',
      headers: type ? { 'content-type': type } : {},
      ...(payload === undefined ? {} : { payload }),
    });
    refused(t, response, 'INVALID_PAYLOAD', what);
  }
  t.equal(await sessionCount(), before);
});

t.test('every rejected login returns the same 401 response (CVE-2024-39896, CVE-2024-41952)', async (t) => {
  const before = await sessionCount();
  const password = userPassword;
  const inactive = await Promise.all(
    userStatuses
      .filter((status) => status !== 'active')
      .map(async (status) => ({ what: status, email: (await createUser(app, { status })).email })),
  );
  t.equal(inactive.length, 5);
  const cases = [
    { what: 'wrong password', email: administrator.email },
    { what: 'unknown email address', email: 'nobody@example.com' },
    { what: 'the longest valid address', email: `${'a'.repeat(116)}@example.com` },
    { what: 'user without a password', email: (await createUser(app, { password: null })).email },
    { what: 'user of another provider', email: (await createUser(app, { provider: 'github' })).email },
    { what: 'empty stored password', email: (await createUser(app, { password: '' })).email },
    { what: 'password stored in plaintext', email: (await createUser(app, { password })).email },
    ...inactive,
  ];
  const expected = await post('/auth/login', { email: 'no.such.user@example.com', password });
  refused(t, expected, 'INVALID_CREDENTIALS', 'the expected response');
  for (const { what, email } of cases) {
    for (const mode of ['json', 'cookie', 'session']) {
      const response = await post('/auth/login', { email, password, mode, otp: '123456' });
      t.equal(response.statusCode, 401, what);
      t.equal(response.body, expected.body, `${what}: the same body`);
      t.strictSame(Object.keys(response.headers), Object.keys(expected.headers), `${what}: the same headers`);
    }
  }
  t.equal(await sessionCount(), before, 'no session was created');

  const account = await createUser(app);
  await post('/auth/login', { ...account, password: 'wrong' });
  t.equal(await lastAccessOf(app, account.id), null, 'a rejected login does not update last_access');
});

t.test('a login respects changes to the user that are made while the password is checked', async (t) => {
  const { passwords } = app;
  const { verify } = passwords;
  t.teardown(() => {
    passwords.verify = verify;
  });
  const loginWhile = async (change: (id: string) => Promise<void>) => {
    const account = await createUser(app);
    passwords.verify = async (stored, password) => {
      const matches = await verify(stored, password);
      passwords.verify = verify;
      await change(account.id);
      return matches;
    };
    const response = await post('/auth/login', account);
    return { response, sessions: await sessionsOf(account.id) };
  };
  const other = await passwords.hash('another password');
  const same = await passwords.hash(userPassword);
  const tfaSecret = 'sealed';
  const cases = [
    { what: 'suspended', columns: { status: 'suspended' }, code: 'INVALID_CREDENTIALS' },
    { what: 'given another password', columns: { password: other }, code: 'INVALID_CREDENTIALS' },
    { what: 'without a password', columns: { password: null }, code: 'INVALID_CREDENTIALS' },
    { what: 'with two-factor authentication', columns: { tfaSecret }, code: 'INVALID_OTP' },
  ] as const;
  for (const { what, columns, code } of cases) {
    const { response, sessions } = await loginWhile((id) => changeUser(app, id, columns));
    refused(t, response, code, what);
    t.strictSame(sessions, [], `${what}: no session`);
  }
  const gone = await loginWhile((id) => deleteUser(app, id));
  refused(t, gone.response, 'INVALID_CREDENTIALS', 'deleted');
  const renewed = await loginWhile((id) => changeUser(app, id, { password: same }));
  t.equal(renewed.response.statusCode, 200, 'a new hash of the same password');
  t.equal(renewed.sessions.length, 1);
});

t.test(
  'a login that waits for an update of the user sees the updated user',
  { skip: engine === 'embedded' && 'there is only one connection' },
  async (t) => {
    const role = async (name: string) => {
      const [made] = await app.db.insert(roles).values({ name }).returning({ id: roles.id });
      return made?.id ?? '';
    };
    const [former, later] = [await role('former'), await role('later')];
    const account = await createUser(app, { role: former });
    const change = async (columns: { role: string } | { status: string }) => {
      const logins: ReturnType<typeof post>[] = [];
      await app.db.transaction(async (tx) => {
        await tx.update(users).set(columns).where(eq(users.id, account.id));
        logins.push(post('/auth/login', account));
        await sleep(500);
      });
      const [response] = await Promise.all(logins);
      if (!response) throw new Error('There is no response to the login.');
      return response;
    };
    const response = await change({ role: later });
    t.equal(response.statusCode, 200);
    t.equal(decodeJwt(response.json().data.access_token).claims.role, later);
    const before = (await sessionsOf(account.id)).length;
    refused(t, await change({ status: 'suspended' }), 'INVALID_CREDENTIALS', 'suspended');
    t.equal((await sessionsOf(account.id)).length, before, 'no session was created');
  },
);

t.test('a login stores the session and the time of access, but no secrets', async (t) => {
  t.test('a login stores the time of access, according to the clock of the service', async (t) => {
    const account = await createUser(app);
    t.equal(await lastAccessOf(app, account.id), null);
    clock.advance(3 * day);
    const before = clock.now().getTime();
    t.equal((await post('/auth/login', account)).statusCode, 200);
    const written = (await lastAccessOf(app, account.id))?.getTime() ?? 0;
    t.ok(written >= before && written <= clock.now().getTime());
  });

  t.test('a login stores a session with its address, user agent and expiry', async (t) => {
    const lifetimes = { json: 7 * day, cookie: 7 * day, session: day };
    for (const [mode, lifetime] of Object.entries(lifetimes)) {
      const account = await createUser(app);
      const before = clock.now().getTime();
      const response = await request({
        method: 'POST',
        url: '/auth/login',
        payload: { ...account, mode },
        headers: { 'user-agent': 'Test/1.0 (any)', 'x-forwarded-for': '198.51.100.1' },
        remoteAddress: '203.0.113.7',
      });
      t.equal(response.statusCode, 200);
      const after = clock.now().getTime();
      const [row, ...more] = await sessionsOf(account.id);
      t.strictSame(more, []);
      t.match(row, { ip: '203.0.113.7', userAgent: 'Test/1.0 (any)', generation: 0 }, mode);
      const made = row?.createdAt.getTime() ?? 0;
      t.ok(made >= before && made <= after, 'created now');
      t.strictSame(row?.authenticatedAt, row?.createdAt, 'authenticated at the time of login');
      const expires = row?.expiresAt.getTime() ?? 0;
      t.ok(expires >= before + lifetime && expires <= after + lifetime, `${mode}: expires on time`);
    }
  });

  t.test('a user agent is truncated to 255 characters, and an empty one is stored as null', async (t) => {
    const kept = async (userAgent: string) => {
      const account = await createUser(app);
      const headers = { 'user-agent': userAgent };
      t.equal((await request({ method: 'POST', url: '/auth/login', payload: account, headers })).statusCode, 200);
      return (await sessionsOf(account.id))[0]?.userAgent;
    };
    t.equal(await kept('a'.repeat(255)), 'a'.repeat(255));
    t.equal(await kept(`${'a'.repeat(254)}bc${'d'.repeat(4000)}`), `${'a'.repeat(254)}b`);
    t.equal(await kept('é'.repeat(300)), 'é'.repeat(255));
    t.equal(await kept(''), null);
  });

  t.test('a session can store an IPv6 address', async (t) => {
    const account = await createUser(app);
    const options = { method: 'POST', url: '/auth/login', payload: account, remoteAddress: '2001:db8::1' } as const;
    t.equal((await request(options)).statusCode, 200);
    t.equal((await sessionsOf(account.id))[0]?.ip, '2001:db8::1');
  });

  t.test('tokens and passwords are stored only as hashes', async (t) => {
    const secret = 'a password that is found nowhere';
    const account = await createUser(app, { password: await app.passwords.hash(secret) });
    const login = async (mode: string) => {
      const response = await post('/auth/login', { email: account.email, password: secret, mode });
      const cookies = setCookies(response);
      return {
        refresh: response.json().data.refresh_token ?? cookies.gatehouse_refresh_token?.value,
        access: response.json().data.access_token ?? cookies.gatehouse_session_token?.value,
      };
    };
    const [json, cookie, session] = [await login('json'), await login('cookie'), await login('session')];

    const stored = new Map((await sessionsOf(account.id)).map((row) => [row.id, row.tokenHash]));
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
    t.equal(stored.get(String(decodeJwt(json.access).claims.session)), sha256(json.refresh));
    t.equal(stored.get(String(decodeJwt(cookie.access).claims.session)), sha256(cookie.refresh));
    t.equal(stored.get(String(decodeJwt(session.access).claims.session)), null);

    const dump = await dumpDatabase(app);
    t.match(dump, sha256(json.refresh), 'the dump is complete');
    t.match(dump, account.email, 'the dump is complete');
    const secrets = {
      secret,
      json: json.refresh,
      cookie: cookie.refresh,
      access: json.access,
      session: session.access,
    };
    for (const [what, text] of Object.entries(secrets)) {
      const spellings = [
        text,
        text.split('.').at(-1) ?? '',
        Buffer.from(text).toString('base64'),
        Buffer.from(text).toString('hex'),
        Buffer.from(text, 'base64url').toString('hex'),
      ];
      for (const spelling of spellings) t.notOk(dump.includes(spelling), what);
    }
  });
});

t.test('a nonexistent route returns 404 ROUTE_NOT_FOUND', async (t) => {
  for (const url of ['/auth/login/unknown', '/auth/login/default', '/auth/login/json', '/auth/logins']) {
    const response = await post(url, administrator);
    refused(t, response, 'ROUTE_NOT_FOUND', url);
    t.equal(response.json().errors[0].extensions.path, url);
  }
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
    refused(t, await request({ method, url: '/auth/login' }), 'ROUTE_NOT_FOUND', method);
  }
});

t.test('AUTH_DISABLE_DEFAULT disables only the login route', async (t) => {
  const { post, get } = await startTestApp(t, {
    AUTH_DISABLE_DEFAULT: 'true',
    ADMIN_TOKEN: 'a-static-token-of-32-characters-for-tests',
  });
  refused(t, await post('/auth/login', administrator), 'ROUTE_NOT_FOUND', 'correct password');
  refused(t, await post('/auth/login', {}), 'ROUTE_NOT_FOUND', 'no body');
  t.equal(
    (await get('/users/me', bearer('a-static-token-of-32-characters-for-tests'))).json().data.email,
    administrator.email,
  );
});
