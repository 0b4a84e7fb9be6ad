import t, { type Test } from 'tap';
import { users } from '../../db/schema.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { digestOfAccounts, sessionsOf, userBehind } from '../helpers/providers/provider-records.js';
import { type LoginFault, refusedLogin, sentBack, signInCookies } from '../helpers/providers/refused-logins.js';
import {
  begin,
  completeLogin,
  createVisitor,
  followRedirect,
  type Start,
  startPath,
} from '../helpers/providers/visitor.js';
import { failures, json, jsonText, redirectTo } from '../helpers/servers/web-server.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { modes, refreshCookie, sessionCookie } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const publicUrl = 'http://gatehouse.example.com';
const keys = ['in-session', 'in-cookie', 'in-json', 'closed', 'addresses', 'nested', 'synced', 'wrong-secret'] as const;
type Key = (typeof keys)[number];

const server = await startOauth2Server(t, { publicUrl, keys });
const open = { ALLOW_PUBLIC_REGISTRATION: 'true' };
const emailsUrl = `${server.origin}/user/emails`;
const variables = {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: keys.join(','),
  ...server.variables('in-session', { ...open, SCOPE: 'read:user user:email' }),
  ...server.variables('in-cookie', { ...open, MODE: 'cookie' }),
  ...server.variables('in-json', { ...open, MODE: 'json', LAST_NAME_KEY: 'surname' }),
  ...server.variables('closed'),
  ...server.variables('addresses', { ...open, EMAILS_URL: emailsUrl }),
  ...server.variables('nested', { ...open, IDENTIFIER_KEY: 'data.id', EMAIL_KEY: 'data.email' }),
  ...server.variables('synced', { ...open, SYNC_USER_INFO: 'true' }),
  ...server.variables('wrong-secret', { ...open, CLIENT_SECRET: 'not the secret' }),
};
const testApp = await startTestApp(t, variables);
/** Has a short provider timeout. Only for failing providers: on a busy machine, a working one can be slow too. */
const impatient = await startTestApp(t, { ...variables, AUTH_PROVIDER_TIMEOUT: '500ms' });
const { app, get } = testApp;

const newVisitor = (service = testApp) => createVisitor(service, publicUrl);
let people = 583_000;

/** Creates the account that the provider signs in from now on. `profile` overrides its fields. */
function newPerson(profile: Record<string, unknown> = {}) {
  const id = ++people;
  server.profile = { id, login: `octo-${id}`, name: 'Mona Lisa', email: `octo-${id}@example.com`, ...profile };
  return { id: String(id), email: `octo-${id}@example.com` };
}

const login = (key: Key, start: Start = { family: 'oauth' }, visitor = newVisitor()) =>
  completeLogin(visitor, key, start, followRedirect);

async function refusedAndNothingStored(
  t: Test,
  key: Key,
  code: LoginFault,
  what: string,
  service = testApp,
): Promise<void> {
  const before = await digestOfAccounts(service.app);
  refusedLogin(t, await login(key, { family: 'oauth' }, newVisitor(service)), code, what);
  t.equal(await digestOfAccounts(service.app), before, `${what}: nothing was stored`);
}

t.test('the identity comes from the provider, never from browser parameters (CVE-2026-44166)', async (t) => {
  const victim = await createUser(app);
  const claims = { email: victim.email, id: 'somebody-else', external_identifier: 'x', role: 'x', status: 'active' };
  const more = new URLSearchParams({ ...claims, createData: JSON.stringify(claims) }).toString();
  const person = newPerson();
  const visitor = newVisitor();
  const started = await visitor.visit(`${startPath('in-json', { family: 'oauth' })}?${more}`);
  const callback = await followRedirect(String(started.headers.location));
  const response = await visitor.visit(`${callback}&${more}`);
  t.equal(response.statusCode, 200, response.body);
  const { user } = (await userBehind(app, 'in-json', String(person.id))) ?? {};
  t.match(user, { email: person.email, provider: 'in-json', externalIdentifier: String(person.id), role: null });
  t.not(user?.id, victim.id);
});

t.test('a login requests authorization with state and PKCE, then a token, then the profile', async (t) => {
  newPerson();
  const url = new URL(await begin(newVisitor(), 'in-session'));
  const { state, code_challenge, ...rest } = Object.fromEntries(url.searchParams);
  t.ok(state && code_challenge);
  t.strictSame(rest, {
    response_type: 'code',
    client_id: 'client-of-in-session',
    redirect_uri: `${publicUrl}/auth/login/in-session/callback`,
    scope: 'read:user user:email',
    code_challenge_method: 'S256',
  });
  t.equal(url.origin + url.pathname, `${server.origin}/authorize`);
  server.asked.length = 0;
  t.equal((await login('in-session')).statusCode, 200);
  t.strictSame(
    server.asked.map(({ method, url }) => `${method} ${url.pathname}`),
    ['GET /authorize', 'POST /token', 'GET /user'],
  );
});

t.test('a complete login works in every mode, on both routes, with and without a redirect', async (t) => {
  for (const mode of modes) {
    for (const family of ['login', 'oauth'] as const) {
      for (const redirect of ['/account?x=1', undefined]) {
        t.test(`mode ${mode}, /auth/${family}, ${redirect ? 'with' : 'without'} redirect`, async (t) => {
          const { id, email } = newPerson();
          const key = `in-${mode}` as const;
          const visitor = newVisitor();
          const response = await login(key, redirect === undefined ? { family } : { family, redirect }, visitor);
          const found = await userBehind(app, key, id);
          t.match(found?.user, {
            provider: key,
            externalIdentifier: id,
            email,
            firstName: 'Mona Lisa',
            status: 'active',
          });
          t.equal((await sessionsOf(app, found?.user.id ?? '')).length, 1);
          if (redirect === undefined && family === 'oauth') {
            t.equal(response.statusCode, 200, response.body);
            const { data } = response.json();
            t.strictSame(Object.keys(data).sort(), ['access_token', 'expires', 'refresh_token']);
            t.equal((await get('/users/me', bearer(data.access_token))).json().data?.id, found?.user.id);
          } else {
            t.equal(response.statusCode, 302, response.body);
            t.equal(response.headers.location, redirect ?? '/');
            t.strictSame(signInCookies(response), [mode === 'session' ? sessionCookie : refreshCookie]);
          }
        });
      }
    }
  }
});

t.test('a number and the same number as a string are the same identifier', async (t) => {
  const { id } = newPerson();
  t.equal((await login('in-json')).statusCode, 200);
  const count = await app.db.$count(users);
  newPerson({ id, email: 'whatever@example.com' });
  t.equal((await login('in-json')).statusCode, 200);
  t.equal(await app.db.$count(users), count);
});

t.test('a login without a valid identifier is rejected', async (t) => {
  const none = [undefined, null, '', true, false, {}, { id: 1 }, [], [583], 'x'.repeat(256), '\0', 'a\0b', ' '];
  for (const id of none) {
    newPerson({ id });
    await refusedAndNothingStored(t, 'in-json', 'INVALID_CREDENTIALS', JSON.stringify(id)?.slice(0, 20) ?? 'none');
  }
  newPerson({ id: 0 });
  t.equal((await login('in-json')).statusCode, 200, 'zero is a valid number');
  for (const profile of [{}, { ID: 583 }, { user: { id: 583 } }]) {
    server.profile = profile;
    await refusedAndNothingStored(t, 'in-json', 'INVALID_CREDENTIALS', JSON.stringify(profile));
  }
});

t.test('without public registration, an unknown account cannot sign in', async (t) => {
  newPerson();
  await refusedAndNothingStored(t, 'closed', 'INVALID_CREDENTIALS', 'an unknown account');
});

t.test('an account is never linked by its address (CVE-2024-38351, GHSA-g38m-r43w-p2q7, CVE-2026-55075)', async (t) => {
  const { email } = await createUser(app);
  for (const spelling of [email, email.toUpperCase()]) {
    newPerson({ email: spelling });
    await refusedAndNothingStored(t, 'in-json', 'INVALID_PROVIDER', spelling);
    sentBack(t, await login('in-json', { redirect: '/x' }), '/x', 'INVALID_PROVIDER', 'in the redirect');
  }
});

t.test('a verified address from the list of addresses is used if the profile hides it', async (t) => {
  const address = (email: unknown, primary: unknown, verified: unknown) => ({ email, primary, verified });
  const emailAfter = async (emails: unknown[], profile: object = { email: null }) => {
    const { id } = newPerson({ ...profile });
    server.emails = emails;
    const response = await login('addresses');
    t.equal(response.statusCode, 200, JSON.stringify(emails));
    return (await userBehind(app, 'addresses', id))?.user.email;
  };
  const primary = `primary-${people}@example.com`;
  t.equal(await emailAfter([address('other@example.com', false, true), address(primary, true, true)]), primary);
  t.equal(await emailAfter([]), null, 'no addresses');
  const shown = { email: 'shown@example.com' };
  t.equal(await emailAfter([address(shown.email, true, false)], shown), null, 'in the profile, but not verified');
  for (const verified of [false, 'true', 1, null, undefined]) {
    const email = `unverified-${people}@example.com`;
    t.equal(await emailAfter([address(email, true, verified)]), null, `verified ${JSON.stringify(verified)}`);
  }
  t.equal(await emailAfter([null, 7, 'x', {}, address(7, true, true), address(null, true, true)]), null, 'malformed');
});

t.test('the identifier and address keys can name nested profile fields', async (t) => {
  server.profile = { data: { id: 17, email: 'nested@example.com' } };
  t.equal((await login('nested')).statusCode, 200);
  t.match((await userBehind(app, 'nested', '17'))?.user, { email: 'nested@example.com' });
  for (const profile of [{ data: null }, { data: 7 }, { data: [] }, { 'data.id': null }, {}]) {
    server.profile = profile;
    await refusedAndNothingStored(t, 'nested', 'INVALID_CREDENTIALS', JSON.stringify(profile));
  }
});

t.test('a later login updates the user only with SYNC_USER_INFO', async (t) => {
  const { id, email } = newPerson();
  const later = { id, name: 'Lisa', email: `new-${email}` };
  for (const key of ['in-json', 'synced'] as const) {
    server.profile = { id, name: 'Mona Lisa', email: `${key}-${email}` };
    t.equal((await login(key)).statusCode, 200);
    server.profile = later;
    t.equal((await login(key)).statusCode, 200);
  }
  t.match((await userBehind(app, 'in-json', id))?.user, { firstName: 'Mona Lisa', email: `in-json-${email}` });
  t.match((await userBehind(app, 'synced', id))?.user, { firstName: 'Lisa', email: later.email });
});

t.test('a callback with an error returns an error code, and nothing is stored', async (t) => {
  const returned = async (error: string, start: Start) => {
    const visitor = newVisitor();
    const state = new URL(await begin(visitor, 'in-json', start)).searchParams.get('state') ?? '';
    return visitor.visit(`/auth/login/in-json/callback?${new URLSearchParams({ error, state })}`);
  };
  const before = await digestOfAccounts(app);
  const errors: [error: string, code: LoginFault][] = [
    ['access_denied', 'INVALID_CREDENTIALS'],
    ['invalid_scope', 'INVALID_PROVIDER_CONFIG'],
    ['unauthorized_client', 'INVALID_PROVIDER_CONFIG'],
    ['server_error', 'SERVICE_UNAVAILABLE'],
    ['temporarily_unavailable', 'SERVICE_UNAVAILABLE'],
  ];
  for (const [error, code] of errors) {
    refusedLogin(t, await returned(error, { family: 'oauth' }), code, error);
    sentBack(t, await returned(error, { redirect: '/a?b=c' }), '/a', code, `${error}, in the redirect`);
  }
  for (const error of ['something-else', '<script>', 'a\r\nb', '', 'INVALID_OTP']) {
    const response = await returned(error, { redirect: '/a' });
    sentBack(t, response, '/a', 'INVALID_CREDENTIALS', JSON.stringify(error));
  }
  t.equal(await digestOfAccounts(app), before);
});

t.test('an error at the token endpoint returns an error code, and nothing is stored', async (t) => {
  t.teardown(() => {
    server.answers = {};
  });
  newPerson();
  await refusedAndNothingStored(t, 'wrong-secret', 'INVALID_PROVIDER_CONFIG', 'a wrong secret');
  const sent = await login('wrong-secret', { redirect: '/a?b' });
  sentBack(t, sent, '/a', 'INVALID_PROVIDER_CONFIG', 'a wrong secret');
  const answers: [error: string, status: number, code: LoginFault][] = [
    ['invalid_client', 401, 'INVALID_PROVIDER_CONFIG'],
    ['invalid_client', 400, 'INVALID_PROVIDER_CONFIG'],
    ['unauthorized_client', 400, 'INVALID_PROVIDER_CONFIG'],
    ['invalid_grant', 400, 'INVALID_CREDENTIALS'],
    // GitHub returns its own error codes with status 200.
    ['bad_verification_code', 200, 'INVALID_CREDENTIALS'],
    ['incorrect_client_credentials', 200, 'INVALID_PROVIDER_CONFIG'],
    ['redirect_uri_mismatch', 200, 'INVALID_PROVIDER_CONFIG'],
  ];
  for (const [error, status, code] of answers) {
    server.answers = { '/token': json({ error, error_description: 'x' }, status) };
    await refusedAndNothingStored(t, 'in-json', code, `${status} ${error}`);
  }
});

t.test('if the provider fails, the login fails in time with SERVICE_UNAVAILABLE', async (t) => {
  t.teardown(() => {
    server.answers = {};
  });
  newPerson();
  for (const path of ['/token', '/user', '/user/emails'] as const) {
    const key = path === '/user/emails' ? 'addresses' : 'in-json';
    if (key === 'addresses') newPerson({ email: null });
    for (const [what, answer] of Object.entries(failures)) {
      // This endpoint returns a list. Anything else counts as a list without addresses.
      if (path === '/user/emails' && what.endsWith('instead of an object')) continue;
      server.answers = { [path]: answer };
      const start = performance.now();
      await refusedAndNothingStored(t, key, 'SERVICE_UNAVAILABLE', `${path}: ${what}`, impatient);
      t.ok(performance.now() - start < 8_000, `${path}: ${what}: in time`);
    }
  }
  server.answers = { '/token': failures['an error of the server'] };
  sentBack(t, await login('in-json', { redirect: '/a' }), '/a', 'SERVICE_UNAVAILABLE', 'in the redirect');
});

t.test('the service does not follow redirects from the provider', async (t) => {
  t.teardown(() => {
    server.answers = {};
  });
  newPerson();
  for (const path of ['/token', '/user'] as const) {
    for (const target of [`${server.origin}/elsewhere`, '/elsewhere', 'file:///etc/passwd']) {
      server.answers = { [path]: redirectTo(target) };
      server.asked.length = 0;
      await refusedAndNothingStored(t, 'in-json', 'SERVICE_UNAVAILABLE', `${path} to ${target}`);
      t.notOk(
        server.asked.some(({ url }) => url.pathname === '/elsewhere'),
        'no request is sent there',
      );
    }
  }
});

t.test('a login fails if the token response has no usable access token', async (t) => {
  t.teardown(() => {
    server.answers = {};
  });
  newPerson();
  const answers = ['{}', '{"access_token":""}', '{"access_token":null}', '{"access_token":7}', '{"access_token":{}}'];
  for (const text of [...answers, '{"access_token":"a\\r\\nX-Injected: 1"}']) {
    server.answers = { '/token': jsonText(text) };
    const before = await digestOfAccounts(app);
    const response = await login('in-json');
    t.ok([401, 503].includes(response.statusCode), `${text}: ${response.statusCode}`);
    t.equal(await digestOfAccounts(app), before);
  }
});
