// @suite not-everyday: tries many cases

import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { recorded, recordedAs } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';
import { loginsOf } from '../helpers/users/logins.js';
import { nextStep, wrongCode } from '../helpers/users/two-factor.js';
import { createUser } from '../helpers/users/users.js';

t.test('a failed login is recorded with the account, and without the credentials', async (t) => {
  const { app, post } = await startTestApp(t);
  const account = await createUser(app);
  const suspended = await createUser(app, { status: 'suspended' });
  const withCode = await createUser(app, { tfa: true });
  for (const [what, body, code, item] of [
    ['a wrong password', { email: account.email, password: 'wrong' }, 'INVALID_CREDENTIALS', account.id],
    ['a suspended user', { email: suspended.email, password: suspended.password }, 'INVALID_CREDENTIALS', suspended.id],
    ['an unknown user', { email: 'my-password@by.mistake', password: 'x' }, 'INVALID_CREDENTIALS', null],
    ['no code', { email: withCode.email, password: withCode.password }, 'INVALID_OTP', withCode.id],
    ['a wrong code', { email: withCode.email, password: withCode.password, otp: '12' }, 'INVALID_OTP', withCode.id],
  ] as const) {
    const response = await post('/auth/login', body);
    refused(t, response, code, what);
    t.match(
      await recorded(app, response.headers['x-request-id']),
      [{ action: 'login', outcome: 'failure', code, user: null, collection: 'users', item }],
      what,
    );
  }
  t.notMatch(JSON.stringify(await recorded(app)), /by.mistake/);
});

t.test('a client cannot choose the request_id, unless a trusted proxy sends it', async (t) => {
  const headers = { 'content-type': 'application/json', 'x-request-id': 'chosen', 'x-forwarded-for': '10.0.0.1' };
  for (const [TRUST_PROXY, expected] of [
    ['false', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
    ['10.0.0.0/8', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
    ['192.0.2.66', /^chosen$/],
  ] as const) {
    const { app, request } = await startTestApp(t, { TRUST_PROXY });
    const payload = { email: 'nobody@example.com', password: 'wrong' };
    await request({ method: 'POST', url: '/auth/login', remoteAddress: '192.0.2.66', headers, payload });
    t.match(await recorded(app), [{ action: 'login', requestId: expected }], TRUST_PROXY);
  }
});

t.test('used, invalid, and forged links are recorded as failures', async (t) => {
  const { app, post, get } = await startTestApp(t);
  const user = await createUser(app);
  await post('/auth/password/request', { email: user.email });
  const token = await tokenFor(app, user.email);
  const payload = { token, password: 'a new password, quite long' };
  t.equal((await post('/auth/password/reset', payload)).statusCode, 204);
  for (const [url, body, code, item] of [
    ['/auth/password/reset', payload, 'FORBIDDEN', user.id],
    ['/auth/password/reset', { ...payload, token: 'x' }, 'INVALID_TOKEN', null],
    ['/users/invite/accept', payload, 'FORBIDDEN', null],
  ] as const) {
    const response = await post(url, body);
    refused(t, response, code, url);
    t.match(
      await recorded(app, response.headers['x-request-id']),
      [{ outcome: 'failure', code, user: null, item }],
      url,
    );
  }
  const browser = await get(`/users/register/verify-email?token=${token}`, { accept: 'text/html' });
  t.equal(browser.statusCode, 302);
  t.match(await recorded(app, browser.headers['x-request-id']), [
    { action: 'email_verified', outcome: 'failure', code: 'FORBIDDEN' },
  ]);
});

t.test('a registration without effect is recorded, and its response does not reveal it', async (t) => {
  const { app, post } = await startTestApp(t, { REGISTRATION_ANSWER_TIME: '5ms' });
  const response = await post('/users/register', { email: 'ada@example.com', password: 'a good long password' });
  t.equal(response.statusCode, 204);
  t.match(await recorded(app, response.headers['x-request-id']), [
    { action: 'register', outcome: 'failure', code: null, user: null, item: null },
  ]);
});

t.test('a lock is recorded once, for existing and unknown accounts; the requests it blocks say so', async (t) => {
  const service = await startTestApp(t);
  const { app, clock } = service;
  const { allow, wrong } = loginsOf(service);
  await allow(3);
  const account = await createUser(app);
  for (const [who, email, item] of [
    ['an existing account', account.email, account.id],
    ['an unknown account', 'nobody@example.com', null],
  ] as const) {
    const before = (await recorded(app)).length;
    const statuses: number[] = [];
    for (let index = 0; index < 10; index++) statuses.push((await wrong({ email }, '198.51.100.7')).statusCode);
    t.strictSame(statuses, [401, 401, 401, 429, 429, 429, 429, 429, 429, 429], who);
    const rows = (await recorded(app)).slice(before);
    t.match(
      rows.map(({ action, outcome, code, reason, item }) => ({ action, outcome, code, reason, item })),
      [
        ...Array(2).fill({ action: 'login', outcome: 'failure', code: 'INVALID_CREDENTIALS', item }),
        { action: 'lock', outcome: 'success', code: null, reason: null, item },
        { action: 'login', outcome: 'failure', code: 'INVALID_CREDENTIALS', item },
        ...Array(7).fill({ action: 'login', outcome: 'failure', code: 'REQUESTS_EXCEEDED', reason: 'locked', item }),
      ],
      who,
    );
    t.equal(rows.length, 11, who);
  }
  clock.advance(minute);
  t.equal((await wrong(account, '198.51.100.7')).statusCode, 401);
  t.equal((await recordedAs(app, 'lock')).length, 3, 'a longer lock is recorded as another lock');
});

t.test('a lock after wrong codes is recorded, too', async (t) => {
  const service = await startTestApp(t);
  const { app, post } = service;
  const { id, email, password } = await createUser(app, { tfa: true });
  const otp = wrongCode(nextStep(service));
  for (let index = 0; index < 7; index++) await post('/auth/login', { email, password, otp });
  t.match(await recordedAs(app, 'lock'), [{ user: null, item: id, collection: 'users' }]);
  t.strictSame(
    (await recordedAs(app, 'login')).map(({ reason, item }) => [reason, item]),
    [...Array(5).fill(['wrong_code', id]), ['locked', id], ['locked', id]],
  );
});

t.test('a flood of denied requests stops being recorded, and the omission is recorded', async (t) => {
  const service = await startWithAdmin(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '100000' });
  const { app, clock, request } = service;
  const flood = async (amount: number, remoteAddress: string) => {
    const url = '/auth/password/reset';
    const payload = { token: 'forged', password: 'x' };
    for (let index = 0; index < amount; index++) await request({ method: 'POST', url, payload, remoteAddress });
  };
  await flood(320, '198.51.100.9');
  const rows = await recorded(app);
  t.equal(rows.length, 301);
  t.match(rows.at(-1), { action: 'refusals_omitted', outcome: 'failure', ip: '198.51.100.9', user: null, item: null });
  await flood(2, '198.51.100.10');
  t.equal((await recorded(app)).length, 303, 'requests from other addresses are still recorded');
  const made = await service.post('/roles', { name: 'A role' }, asAdmin);
  t.equal((await recorded(app, made.headers['x-request-id'])).length, 1, 'and so are successful operations');
  clock.advance(15 * minute);
  await flood(1, '198.51.100.9');
  t.equal((await recorded(app)).length, 305, 'and recording resumes after a while');
});

t.test(
  'invalid credentials, malformed requests, and rate-limited requests are logged, but not recorded in the audit log',
  async (t) => {
    const service = await startWithAdmin(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '5' });
    const { app, post, request } = service;
    const ask = (payload: object, headers: Record<string, string>) =>
      request({ method: 'PATCH', url: '/users/me', payload, headers });
    refused(t, await ask({}, bearer('nobodys-token')), 'INVALID_CREDENTIALS', 'an unknown token');
    refused(t, await ask({}, {}), 'INVALID_CREDENTIALS', 'no token');
    refused(t, await ask({ nickname: 'x' }, asAdmin), 'INVALID_PAYLOAD', 'an unknown field');
    refused(t, await post('/auth/login', { email: administrator.email }), 'INVALID_PAYLOAD', 'no password');
    for (let index = 0; index < 5; index++) await post('/auth/login', { email: administrator.email, password: 'x' });
    t.equal((await recorded(app)).length, 1, 'one login was processed before the rate limit was reached');
  },
);

t.test('if the audit log cannot be written, operations fail and change nothing', async (t) => {
  const { app, post } = await startWithAdmin(t);
  const name = `Role ${randomUUID()}`;
  await app.db.execute(sql`alter table activity rename to put_away`);
  t.equal((await post('/roles', { name }, asAdmin)).statusCode, 500);
  t.equal((await post('/auth/login', administrator)).statusCode, 500);
  refused(
    t,
    await post('/auth/login', { ...administrator, password: 'wrong' }),
    'INVALID_CREDENTIALS',
    'a denied request is still denied',
  );
  const [found] = (await app.db
    .execute(
      sql`select (select count(*)::int from roles where name = ${name}) as roles, (select count(*)::int from sessions) as sessions`,
    )
    .then((result) => (Array.isArray(result) ? result : (result as { rows: object[] }).rows))) as object[];
  t.strictSame({ ...found }, { roles: 0, sessions: 0 });
  await app.db.execute(sql`alter table put_away rename to activity`);
});
