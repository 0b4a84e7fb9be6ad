// @suite embedded-only: hardly depends on the engine

import { setTimeout as sleep } from 'node:timers/promises';
import {
  acceptUserInvite,
  createDirectus,
  createRole,
  createUser,
  customEndpoint,
  disableTwoFactor,
  enableTwoFactor,
  generateTwoFactorSecret,
  inviteUser,
  login,
  logout,
  passwordRequest,
  passwordReset,
  readMe,
  readProviders,
  readUsers,
  refresh,
  registerUser,
  registerUserVerify,
  rest,
  staticToken,
  updateSettings,
  withOptions,
  withToken,
} from '@directus/sdk';
import { TOTP } from 'otpauth';
import t, { type Test } from 'tap';
import { adminToken, startWithAdmin } from '../helpers/http/writing.js';
import { mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { minute } from '../helpers/service/clock.js';

const { app, clock } = await startWithAdmin(t, {
  AUTH_PROVIDERS: 'work',
  AUTH_WORK_DRIVER: 'openid',
  AUTH_WORK_ISSUER_URL: 'https://id.example.com',
  AUTH_WORK_CLIENT_ID: 'gatehouse',
  AUTH_WORK_CLIENT_SECRET: 'a secret of the provider',
  AUTH_WORK_LABEL: 'Work',
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
const globals = { fetch: checkedFetch };
const stranger = createDirectus(url, { globals }).with(rest());
const administrator = createDirectus(url, { globals }).with(staticToken(adminToken)).with(rest());
const password = 'the password of a user';

/** The token in an email. A listening service sends emails in the background, so the email may not have arrived yet. */
async function tokenSentTo(email: string): Promise<string> {
  for (let waited = 0; (await mailsTo(app, email)).length === 0 && waited < 10_000; waited += 50) await sleep(50);
  return tokenFor(app, email);
}

/** Checks the error that the SDK throws for an error response. */
async function isRefused(t: Test, promise: Promise<unknown>, code: string) {
  const failure = await promise.catch((error: unknown) => error);
  t.match(failure, { errors: [{ extensions: { code } }] });
}

t.test('login(), refresh(), and logout() work as standalone commands', async (t) => {
  const { id } = await administrator.request(createUser({ email: 'ada@example.com', password }));
  await isRefused(t, stranger.request(login('ada@example.com', 'not the password')), 'INVALID_CREDENTIALS');
  const first = await stranger.request(login('ada@example.com', password, { mode: 'json' }));
  t.match(first, { expires: 900_000, access_token: String, refresh_token: String });
  t.equal((await stranger.request(withToken(first.access_token ?? '', readMe()))).id, id);

  const second = await stranger.request(refresh('json', first.refresh_token ?? ''));
  t.not(second.refresh_token, first.refresh_token);
  const again = await stranger.request(refresh('json', first.refresh_token ?? ''));
  t.equal(again.refresh_token, second.refresh_token, 'a refresh can be repeated');
  await stranger.request(logout(second.refresh_token ?? '', 'json'));
  await isRefused(t, stranger.request(refresh('json', second.refresh_token ?? '')), 'INVALID_CREDENTIALS');
  await isRefused(t, stranger.request(withToken(second.access_token ?? '', readMe())), 'INVALID_CREDENTIALS');

  const other = await stranger.request(login('ada@example.com', password, { mode: 'json' }));
  await stranger.request(refresh('json', other.refresh_token ?? ''));
  clock.advance(minute);
  await isRefused(t, stranger.request(refresh('json', other.refresh_token ?? '')), 'INVALID_CREDENTIALS');

  const asCookie = await stranger.request(login('ada@example.com', password, { mode: 'cookie' }));
  t.match(asCookie, { access_token: String });
  t.notOk(asCookie.refresh_token, 'the refresh token is in the cookie');
  await isRefused(t, stranger.request(login('ada@example.com', password, { provider: 'work' })), 'INVALID_PAYLOAD');
});

t.test('passwordRequest() and passwordReset() replace a password', async (t) => {
  await stranger.request(passwordRequest('nobody@example.com'));
  await stranger.request(passwordRequest('ada@example.com'));
  const token = await tokenSentTo('ada@example.com');
  await stranger.request(passwordReset(token, 'another password of hers'));
  await isRefused(t, stranger.request(passwordReset(token, 'a third password')), 'FORBIDDEN');
  t.ok((await stranger.request(login('ada@example.com', 'another password of hers'))).access_token);
  const elsewhere = 'https://elsewhere.example/reset';
  await isRefused(t, stranger.request(passwordRequest('ada@example.com', elsewhere)), 'INVALID_PAYLOAD');
});

t.test('readProviders() lists the providers', async (t) => {
  t.match(await stranger.request(readProviders()), [{ name: 'work', driver: 'openid', label: 'Work' }]);
  t.equal((await stranger.request(readProviders(true))).length, 1, 'providers that start sessions');
});

t.test('inviteUser() and acceptUserInvite() create an active user', async (t) => {
  const role = await administrator.request(createRole({ name: 'Member' }));
  await isRefused(t, stranger.request(inviteUser('bob@example.com', role.id)), 'FORBIDDEN');
  await administrator.request(inviteUser('bob@example.com', role.id));
  const token = await tokenSentTo('bob@example.com');
  await stranger.request(acceptUserInvite(token, password));
  await isRefused(t, stranger.request(acceptUserInvite(token, password)), 'INVALID_INVITE');
  t.ok((await stranger.request(login('bob@example.com', password))).access_token);
});

t.test('registerUser() and registerUserVerify() create an active user if registration is open', async (t) => {
  const statusOf = async (email: string) =>
    (
      await administrator.request(readUsers({ filter: { email: { _eq: email } }, fields: ['status', 'first_name'] }))
    )[0];
  await stranger.request(registerUser('early@example.com', password));
  t.equal(
    await statusOf('early@example.com'),
    undefined,
    'registration is closed, and the response does not reveal it',
  );
  await administrator.request(updateSettings({ public_registration: true } as object));
  await stranger.request(registerUser('eve@example.com', password, { first_name: 'Eve' }));
  t.strictSame(await statusOf('eve@example.com'), { status: 'unverified', first_name: null });
  await stranger.request(registerUserVerify(await tokenSentTo('eve@example.com')));
  t.strictSame(await statusOf('eve@example.com'), { status: 'active', first_name: 'Eve' });
});

t.test('generateTwoFactorSecret(), enableTwoFactor(), and disableTwoFactor() manage the second factor', async (t) => {
  const holding = (token: string) => createDirectus(url, { globals }).with(staticToken(token)).with(rest());
  const role = await administrator.request(
    customEndpoint<{ role: string }>({ path: '/users/me?fields=role', method: 'GET' }),
  );
  const user = {
    email: 'holder@example.com',
    password,
    token: 'the-token-of-a-holder-is-long-enough',
    role: role.role,
  };
  await administrator.request(createUser(user));
  await isRefused(t, holding(user.token).request(generateTwoFactorSecret(password)), 'FORBIDDEN');
  const { access_token: token } = await stranger.request(login('holder@example.com', password, { mode: 'json' }));
  const holder = holding(token ?? '');
  await isRefused(t, holder.request(generateTwoFactorSecret('not the password')), 'INVALID_CREDENTIALS');
  const { secret, otpauth_url } = await holder.request(generateTwoFactorSecret(password));
  t.match(otpauth_url, `secret=${secret}`);
  const code = () => new TOTP({ secret }).generate({ timestamp: clock.now().getTime() });
  await holder.request(enableTwoFactor(secret, code()));
  await isRefused(t, stranger.request(login('holder@example.com', password)), 'INVALID_OTP');
  clock.advance(minute);
  t.ok((await stranger.request(login('holder@example.com', password, { otp: code() }))).access_token);
  clock.advance(minute);
  await holder.request(disableTwoFactor(code()));
  t.ok((await stranger.request(login('holder@example.com', password))).access_token);
});

t.test('customEndpoint() calls operations that are not in the SDK, and withOptions() sets options', async (t) => {
  const { access_token: token = '' } = await stranger.request(login('bob@example.com', password));
  const sessions = customEndpoint<{ current: boolean }[]>({ path: '/users/me/sessions', method: 'GET' });
  const found = await stranger.request(withToken(token ?? '', sessions));
  t.equal(found.filter(({ current }) => current).length, 1);
  const document = await stranger.request(
    customEndpoint<{ openapi: string }>({ path: '/openapi.json', method: 'GET' }),
  );
  t.match(document.openapi, /^3\.1/);
  const asAdministrator = withOptions(readMe({ fields: ['email'] }), {
    headers: { Authorization: `Bearer ${adminToken}` },
  });
  t.strictSame(await stranger.request(asAdministrator), { email: 'admin@example.com' });
});
