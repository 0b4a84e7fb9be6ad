import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { loggerOptions } from '../../plugins/monitoring/logging.js';
import { recorded } from '../helpers/database/activity.js';
import { schemas } from '../helpers/database/databases.js';
import { dumpDatabase } from '../helpers/database/dump.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { allOperations } from '../helpers/openapi/operations.js';
import { providerVariables } from '../helpers/providers/openid-provider.js';
import { amountOf } from '../helpers/runner/long.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUser, createUserWithToken } from '../helpers/users/users.js';

/**
 * Sends marked passwords, tokens, codes, and cookies to every path. Most requests are rejected. The mark must not
 * appear in a log line, an error, an audit log row, a job, or anywhere else in the database.
 */

/** `npm run test:soak` sends 10,000. */
const amount = amountOf('CANARIES', { short: 200, long: 2_000 });

/** Part of every secret. Its characters are valid in base32, recovery codes, JWTs, and headers. */
const mark = 'canaryqzhenbax';
const marked = (): string => `${mark}${randomBytes(6).toString('hex').replaceAll(/[01]/g, 'x')}`;

/** The mark as plain text, as hex, and as base64 at each possible offset (complete base64 groups only). */
const spellings = [
  mark,
  Buffer.from(mark).toString('hex'),
  ...[0, 1, 2].map((skipped) => {
    const text = Buffer.from(`${'_'.repeat(skipped)}${mark}`).toString('base64');
    return text.slice(skipped === 0 ? 0 : 4, -4);
  }),
].map((text) => text.toLowerCase());

const found = (text: string): string | undefined => {
  const lower = text.toLowerCase();
  return spellings.find((spelling) => lower.includes(spelling));
};

const logged: string[] = [];
const logger = { ...(loggerOptions('trace') as object), stream: { write: (line: string) => logged.push(line) } };
const service = await startTestApp(
  t,
  {
    ADMIN_TOKEN: adminToken,
    REGISTRATION_ANSWER_TIME: '1ms',
    AUTH_PROVIDERS: 'alpha',
    ...providerVariables('alpha', {
      DRIVER: 'oauth2',
      CLIENT_ID: 'x',
      CLIENT_SECRET: marked(),
      AUTHORIZE_URL: 'http://127.0.0.1:9/authorize',
      ACCESS_URL: 'http://127.0.0.1:9/token',
      PROFILE_URL: 'http://127.0.0.1:9/user',
    }),
  },
  { logger },
);
const { app, request } = service;
const everybody = await createUserWithToken(app, { policies: [await createPolicy(app, { appAccess: true })] });
/** A new session of that user, because many of the requests end all sessions. */
const session = () => openSession(app, withTfa.id);
const withTfa = await createSignedInUser(service, { tfa: true, policies: [await ownSecretPolicy(app)] });
await request({ method: 'PATCH', url: '/settings', headers: asAdmin, payload: { public_registration: true } });

const operations = allOperations({ id: everybody.id, provider: 'alpha' });
const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
let people = 0;
const email = () => `person-${++people}@example.com`;
const jwtOf = (secret: string) =>
  [{ alg: 'HS256', typ: 'JWT' }, { iss: 'gatehouse', id: secret }, secret]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');

type Send = (secret: string) => Promise<LightMyRequestResponse>;
const post = (url: string, payload: unknown, headers: Record<string, string> = {}) =>
  app.inject({ method: 'POST', url, headers, payload: payload as object });
const patch = (url: string, payload: object, headers: Record<string, string> = asAdmin) =>
  app.inject({ method: 'PATCH', url, headers, payload });
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers });

const json = { 'content-type': 'application/json' };

/** A few requests of each kind, with the secret where a secret is expected. */
const ways: Record<string, Send> = {
  'a wrong password': (secret) => post('/auth/login', { email: everybody.email, password: secret }),
  'a password for an unknown user': (secret) => post('/auth/login', { email: email(), password: secret }),
  'a password in the email field': (secret) => post('/auth/login', { email: secret, password: secret }),
  'a wrong code': (secret) => post('/auth/login', { email: withTfa.email, password: withTfa.password, otp: secret }),
  'a login of a wrong type': (secret) => post('/auth/login', { email: [secret], password: { secret }, otp: [secret] }),
  'a login with more fields': (secret) => post('/auth/login', { email: email(), password: secret, [secret]: secret }),
  'a truncated body': (secret) => post('/auth/login', `{"email": "x", "password": "${secret}`, json),
  'a body that is not an object': (secret) => post('/auth/login', JSON.stringify(secret), json),
  'a form': (secret) =>
    post('/auth/login', `password=${secret}`, { 'content-type': 'application/x-www-form-urlencoded' }),
  'a content type': (secret) => post('/auth/login', { password: secret }, { 'content-type': `text/${secret}` }),
  'an oversized body': (secret) => post('/auth/login', { password: secret.repeat(100_000) }),
  'a refresh token': (secret) => post('/auth/refresh', { refresh_token: secret.padEnd(64, 'x') }),
  'a refresh cookie': (secret) => post('/auth/refresh', {}, { cookie: `gatehouse_refresh_token=${secret}` }),
  'a session cookie': (secret) =>
    post('/auth/refresh', { mode: 'session' }, { cookie: `gatehouse_session_token=${jwtOf(secret)}` }),
  'a refresh token in a logout': (secret) => post('/auth/logout', { refresh_token: secret }),
  'a static token, any operation': (secret) => app.inject({ ...any(operations), headers: bearer(secret) }),
  'an access token, any operation': (secret) => app.inject({ ...any(operations), headers: bearer(jwtOf(secret)) }),
  'a query token, any operation': (secret) => app.inject({ ...any(operations), query: { access_token: secret } }),
  'two tokens, any operation': (secret) =>
    app.inject({ ...any(operations), query: { access_token: secret }, headers: bearer(secret) }),
  'a cookie, any operation': (secret) =>
    app.inject({ ...any(operations), headers: { cookie: `gatehouse_session_token=${secret}; other=${secret}` } }),
  'basic authentication': (secret) =>
    get('/users/me', { authorization: `Basic ${Buffer.from(`x:${secret}`).toString('base64')}` }),
  'a link token for a reset': (secret) => post('/auth/password/reset', { token: jwtOf(secret), password: secret }),
  'a link token for an invitation': (secret) => post('/users/invite/accept', { token: secret, password: secret }),
  'a link token for a verification': (secret) => get(`/users/register/verify-email?token=${jwtOf(secret)}`),
  'a link token in a browser': (secret) => get(`/users/register/verify-email?token=${secret}`, { accept: 'text/html' }),
  'a verified registration with a password': async (secret) => {
    const person = email();
    await post('/users/register', { email: person, password: secret });
    return get(`/users/register/verify-email?token=${await tokenFor(app, person)}`);
  },
  'a repeated registration': (secret) => post('/users/register', { email: everybody.email, password: secret }),
  'a password that is too short': () => post('/users/register', { email: email(), password: mark.slice(0, 1) }),
  'a user': (secret) => post('/users', { email: email(), password: secret, token: secret }, asAdmin),
  'a user who already exists': (secret) =>
    post('/users', { email: everybody.email, password: secret, token: secret }, asAdmin),
  'two users with the same token': (secret) =>
    post(
      '/users',
      [email(), email()].map((one) => ({ email: one, password: secret, token: secret })),
      asAdmin,
    ),
  'a user with an unknown field': (secret) =>
    post('/users', { email: email(), password: secret, nickname: 'x' }, asAdmin),
  'a secret that is too long': (secret) =>
    post('/users', { email: email(), password: secret.repeat(200), token: secret.repeat(50) }, asAdmin),
  'secrets of the wrong type': (secret) =>
    post('/users', { email: email(), password: [secret], token: { secret } }, asAdmin),
  'a token with a space': (secret) => patch(`/users/${everybody.id}`, { token: `${secret} ${secret}` }),
  'a TFA secret': (secret) => patch(`/users/${everybody.id}`, { tfa_secret: secret }),
  'secrets without the permission to set them': (secret) =>
    patch(`/users/${everybody.id}`, { password: secret, token: secret }, everybody.headers),
  'a new password': async (secret) => patch('/users/me', { password: secret }, await session()),
  'presets with secrets': (secret) =>
    post(
      '/permissions',
      { policy: withTfa.id, collection: 'users', action: 'create', presets: { password: secret } },
      asAdmin,
    ),
  'a filter by a password': (secret) => get(`/users?filter[password][_eq]=${secret}`, asAdmin),
  'a filter by a token': (secret) => get(`/users?filter[token][_eq]=${secret}&fields=id`, asAdmin),
  'a filter in a body': (secret) =>
    app.inject({
      method: 'SEARCH' as 'POST',
      url: '/users',
      headers: asAdmin,
      payload: { query: { filter: { tfa_secret: { _starts_with: secret } } } },
    }),
  'a password to set up TFA': (secret) => post('/users/me/tfa/generate', { password: secret }, everybody.headers),
  'a TFA secret and a code to enable TFA': (secret) =>
    post(
      '/users/me/tfa/enable',
      {
        secret: secret
          .toUpperCase()
          .replaceAll(/[^A-Z2-7]/g, 'A')
          .padEnd(32, 'A'),
        otp: secret,
      },
      asAdmin,
    ),
  'a code to disable TFA': async (secret) => post('/users/me/tfa/disable', { otp: secret }, await session()),
  'a recovery code': (secret) =>
    post('/auth/login', { email: withTfa.email, password: withTfa.password, otp: secret.slice(0, 16).padEnd(16, '2') }),
  'a password and a code to create recovery codes': async (secret) =>
    post('/users/me/tfa/recovery-codes', { password: secret, otp: secret }, await session()),
  'a password to reauthenticate with': async (secret) =>
    post('/auth/reauthenticate', { password: secret }, await session()),
  'a code to reauthenticate with': async (secret) => post('/auth/reauthenticate', { otp: secret }, await session()),
  'a current password': async (secret) =>
    patch('/users/me', { password: 'a new password, quite long', current_password: secret }, await session()),
  'a callback from a provider': (secret) =>
    get(`/auth/oauth/alpha/callback?state=${secret}&code=${secret}`, {
      cookie: `gatehouse_provider_state=${secret}; gatehouse_provider_verifier=${secret}`,
    }),
  'a provider that is unavailable': async (secret) => {
    const start = await get('/auth/oauth/alpha');
    const cookies = [start.headers['set-cookie'] ?? []].flat().map((line) => String(line).split(';')[0]);
    const state = new URL(String(start.headers.location)).searchParams.get('state') ?? '';
    const cookie = cookies.join('; ');
    return get(`/auth/oauth/alpha/callback?${new URLSearchParams({ state, code: secret })}`, { cookie });
  },
  'a code after a provider login': (secret) =>
    post('/auth/login/alpha', { otp: secret }, { cookie: `gatehouse_provider_pending=${secret}` }),
  'a reset URL that contains a secret': (secret) =>
    post('/auth/password/request', {
      email: everybody.email,
      reset_url: `http://nowhere.example.com/?token=${secret}`,
    }),
  'a malformed header': (secret) => get('/users/me', { authorization: `Bearer ${secret} ${secret}` }),
};

t.test(`${amount} marked secrets leave no trace (CVE-2023-28443, CVE-2024-47822)`, async (t) => {
  const names = Object.keys(ways);
  const statuses = new Map<number, number>();
  let lines = 0;
  const check = async () => {
    const line = logged.find((text) => found(text));
    t.equal(line, undefined, 'no log line contains a secret');
    lines += logged.length;
    logged.length = 0;
    while ((await app.mail.deliverNow()) > 0);
    const row = (await dumpDatabase(app)).split('\n').find((text) => found(text));
    t.equal(row, undefined, 'no database row contains a secret');
  };
  for (let count = 0; count < amount; count++) {
    const name = names[count % names.length] as string;
    const response = await ways[name]?.(marked());
    if (!response) continue;
    statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1);
    t.ok(response.statusCode < 500 || response.statusCode === 503, `${name}: ${response.statusCode}`);
    const told = found(`${response.body}${JSON.stringify(response.headers)}`);
    if (told !== undefined) t.fail(`${name}: in the response: ${response.statusCode} ${response.body.slice(0, 300)}`);
    if (count % 1000 === 999) await check();
  }
  await check();
  t.comment(`${lines} lines; ${[...statuses].map(([status, times]) => `${times} × ${status}`).join(', ')}`);
  t.ok(lines >= amount, `${lines} log lines were searched`);
  t.ok((await recorded(app)).length > amount / 4, 'the audit log contains rows as well');
  for (const status of [200, 204, 400, 401, 403]) t.ok(statuses.has(status), `some requests returned ${status}`);
});

t.test('secrets that the service created are neither logged nor stored', async (t) => {
  const { email, password } = withTfa;
  await app.db.execute('update users set tfa_failures = 0, tfa_locked_until = null');
  await patch(`/users/${withTfa.id}`, { password: 'the password of before' });
  const login = async (mode: string) => {
    const response = await post('/auth/login', {
      email,
      password: 'the password of before',
      mode,
      otp: codeOfStep(nextStep(service)),
    });
    t.equal(response.statusCode, 200, response.body);
    return response;
  };
  const tokens = (await login('json')).json().data;
  const cookies = [(await login('cookie')).headers, (await login('session')).headers]
    .flatMap((sent) => [sent['set-cookie'] ?? []].flat())
    .map((line) => String(line).split(';')[0]?.split('=')[1] ?? '');
  const codes: string[] = (
    await post('/users/me/tfa/recovery-codes', { otp: codeOfStep(nextStep(service)) }, await session())
  ).json().data;
  await post('/auth/password/request', { email });
  const link = await tokenFor(app, email);
  // Another user, because the wrong passwords above may have locked the account.
  const other = await createUser(app);
  const generated = await post(
    '/users/me/tfa/generate',
    { password: other.password },
    await openSession(app, other.id),
  );
  t.equal(generated.statusCode, 200, generated.body);
  const { secret } = generated.json();
  const secrets = { password, ...tokens, ...cookies, codes: codes[0], link, secret };
  delete secrets.expires;
  await post('/auth/password/reset', { token: link, password: 'x' });
  await post('/auth/refresh', { refresh_token: tokens.refresh_token });
  await post('/auth/refresh', { refresh_token: tokens.refresh_token });
  const log = logged.join('');
  // In development, the mailbox keeps sent emails with their links.
  const dump = (await dumpDatabase(app)).split('\n').filter((line) => !line.startsWith(`${schemas.tables}.mailbox`));
  t.ok(Object.keys(secrets).length >= 8);
  for (const [what, text] of Object.entries(secrets)) {
    t.ok(String(text).length >= 16, `${what} is long enough to search for`);
    t.notOk(log.includes(String(text)), `${what} is not logged`);
    t.notOk(
      dump.some((line) => line.includes(String(text))),
      `${what} is not stored`,
    );
  }
});
