// @suite embedded-only: hardly depends on the engine

import { eq } from 'drizzle-orm';
import t from 'tap';
import { policies, rolePolicies, roles, users } from '../../db/schema.js';
import { setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { startHostileIssuers } from '../helpers/providers/hostile-provider.js';
import { digestOfAccounts, userBehind } from '../helpers/providers/provider-records.js';
import { sentBack } from '../helpers/providers/refused-logins.js';
import { begin, completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { collectLog } from '../helpers/service/collect-log.js';
import { administrator } from '../helpers/users/credentials.js';
import { sessionCookie } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret, stepOf } from '../helpers/users/totp.js';
import { changeUser } from '../helpers/users/users.js';

const { issuer } = await startHostileIssuers(t, ['issuer']);

t.test('ROLE_MAPPING does not remove the role of the last administrator', async (t) => {
  const publicUrl = 'http://gatehouse.example.com';
  const member = '7a3b0c1e-8f51-4f2b-9f52-0a4a8a6d3c11';
  const admins = '7a3b0c1e-8f51-4f2b-9f52-0a4a8a6d3c12';
  const testApp = await startTestApp(t, {
    PUBLIC_URL: publicUrl,
    AUTH_PROVIDERS: 'issuer',
    ...issuer.variables('issuer', {
      MODE: 'json',
      DEFAULT_ROLE_ID: member,
      ROLE_MAPPING: JSON.stringify({ staff: member, chiefs: admins }),
    }),
  });
  const { app, get } = testApp;
  await app.db.insert(roles).values({ id: member, name: 'Member' });
  await app.db.insert(roles).values({ id: admins, name: 'Chiefs' });
  const [held] = await app.db.select().from(policies).where(eq(policies.adminAccess, true));
  await app.db.insert(rolePolicies).values({ role: admins, policy: held?.id ?? '' });

  const { sub } = issuer.useNewUser();
  const truth = issuer.claims;
  const login = async (groups: string[]) => {
    issuer.claims = { ...truth, groups };
    const response = await completeLogin(
      createVisitor(testApp, publicUrl),
      'issuer',
      { family: 'oauth' },
      followRedirect,
    );
    t.equal(response.statusCode, 200, response.body);
    return bearer(response.json().data.access_token);
  };
  const roleNow = async () => (await userBehind(app, 'issuer', sub))?.user.role;
  await login(['chiefs']);
  t.equal(await roleNow(), admins);
  await login(['staff']);
  t.equal(await roleNow(), member, 'one of two administrators can lose the role');

  await login(['chiefs']);
  const [first] = await app.db.select().from(users).where(eq(users.email, administrator.email));
  await changeUser(app, first?.id ?? '', { status: 'suspended' });
  for (const groups of [['staff'], [], ['strangers']]) {
    const headers = await login(groups);
    t.equal(await roleNow(), admins, `the last administrator keeps it, with the groups ${JSON.stringify(groups)}`);
    t.equal((await get('/mails', headers)).statusCode, 200, 'and its permissions');
  }
});

t.test('no login works while everyone who registers through the provider would become an administrator', async (t) => {
  const publicUrl = 'http://gatehouse.example.com';
  const role = '7a3b0c1e-8f51-4f2b-9f52-0a4a8a6d3c31';
  const { lines, logger } = collectLog('error');
  const testApp = await startTestApp(
    t,
    {
      PUBLIC_URL: publicUrl,
      AUTH_PROVIDERS: 'open,closed',
      ...issuer.variables('open', { MODE: 'json', ALLOW_PUBLIC_REGISTRATION: 'true', DEFAULT_ROLE_ID: role }),
      ...issuer.variables('closed', { MODE: 'json', DEFAULT_ROLE_ID: role, ALLOW_PUBLIC_REGISTRATION: 'false' }),
    },
    { logger },
  );
  const { app, post } = testApp;
  const [held] = await app.db.select().from(policies).where(eq(policies.adminAccess, true));
  await app.db.insert(roles).values({ id: role, name: 'Everyone' });
  const login = (visitor = createVisitor(testApp, publicUrl), key = 'open') =>
    completeLogin(visitor, key, { family: 'oauth' }, followRedirect);

  const { sub } = issuer.useNewUser();
  t.equal((await login()).statusCode, 200, 'an ordinary role');
  const { id = '' } = (await userBehind(app, 'open', sub))?.user ?? {};
  await changeUser(app, id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
  const pending = createVisitor(testApp, publicUrl);
  refused(t, await login(pending), 'INVALID_OTP', 'waits for the code');

  await app.db.insert(rolePolicies).values({ role, policy: held?.id ?? '' });
  const before = await digestOfAccounts(app);
  const otp = codeOfStep(stepOf(testApp.clock.now()));
  const cookie = await pending.cookies('/auth/login/open');
  refused(t, await post('/auth/login/open', { otp }, { cookie }), 'INVALID_PROVIDER_CONFIG', 'the second step');
  refused(t, await login(), 'INVALID_PROVIDER_CONFIG', 'an existing user');
  issuer.useNewUser();
  refused(t, await login(), 'INVALID_PROVIDER_CONFIG', 'a new user');
  t.equal(await digestOfAccounts(app), before, 'nothing was stored');
  t.match(JSON.stringify(lines.at(-1)), /DEFAULT_ROLE_ID must not lead to admin_access/, 'the log names the cause');
  refused(t, await login(undefined, 'closed'), 'INVALID_CREDENTIALS', 'a provider where nobody can register');
});

t.test('with AUTH_DISABLE_DEFAULT, users can sign in only through providers', async (t) => {
  const publicUrl = 'http://gatehouse.example.com';
  const testApp = await startTestApp(t, {
    PUBLIC_URL: publicUrl,
    AUTH_DISABLE_DEFAULT: 'true',
    AUTH_PROVIDERS: 'issuer',
    ...issuer.variables('issuer', { MODE: 'json' }),
  });
  const { get, post } = testApp;
  t.match((await get('/auth')).json(), { data: [{ name: 'issuer' }], disableDefault: true });
  issuer.useNewUser();
  const response = await completeLogin(
    createVisitor(testApp, publicUrl),
    'issuer',
    { family: 'oauth' },
    followRedirect,
  );
  t.equal(response.statusCode, 200, response.body);
  const { refresh_token } = response.json().data;
  t.equal((await post('/auth/refresh', { refresh_token })).statusCode, 200);
  refused(t, await post('/auth/login', administrator), 'ROUTE_NOT_FOUND', 'with a password');
  const own = await get('/users/me/identities', bearer(response.json().data.access_token));
  const [{ id }] = own.json().data;
  const url = `/users/me/identities/${id}`;
  const headers = bearer(response.json().data.access_token);
  refused(
    t,
    await testApp.request({ method: 'DELETE', url, headers }),
    'UNPROCESSABLE_CONTENT',
    'the only way to sign in',
  );
});

t.test('no user can sign in through a disabled provider (CVE-2025-64717)', async (t) => {
  const publicUrl = 'http://gatehouse.example.com';
  const both = {
    PUBLIC_URL: publicUrl,
    AUTH_PROVIDERS: 'issuer,other',
    ...issuer.variables('issuer', { MODE: 'json' }),
    ...issuer.variables('other', { MODE: 'json' }),
  };
  const before = await startTestApp(t, both);
  const only = Object.fromEntries(Object.entries(both).filter(([name]) => !name.startsWith('AUTH_ISSUER_')));
  const after = await startTestApp(t, { ...only, AUTH_PROVIDERS: 'other' }, { database: before.database.location });
  const login = (service: typeof before, key: string, visitor = createVisitor(service, publicUrl)) =>
    completeLogin(visitor, key, { family: 'oauth' }, followRedirect);

  const { sub } = issuer.useNewUser();
  t.equal((await login(before, 'issuer')).statusCode, 200);
  const { user } = (await userBehind(before.app, 'issuer', sub)) ?? {};
  const waiting = createVisitor(before, publicUrl);
  const callback = await followRedirect(await begin(waiting, 'issuer', { family: 'oauth' }));
  await changeUser(before.app, user?.id ?? '', {
    tfaSecret: before.app.tfaSecrets.seal(rfcSecret.base32, user?.id ?? ''),
  });
  const pending = createVisitor(before, publicUrl);
  t.equal((await login(before, 'issuer', pending)).statusCode, 401, 'a second factor is required');

  const stored = await digestOfAccounts(after.app);
  const cookie = async (visitor: typeof waiting) => ({ cookie: await visitor.cookies(callback) });
  const path = callback.slice(publicUrl.length);
  const moved = path.replace('/issuer/', '/other/');
  const otp = codeOfStep(stepOf(after.clock.now()));
  for (const [what, answer] of Object.entries({
    'the start of a login': await after.get('/auth/login/issuer'),
    'the start of a login on the other route': await after.get('/auth/oauth/issuer'),
    'a login in progress': await after.get(path, await cookie(waiting)),
    'a pending second factor': await after.post('/auth/login/issuer', { otp }, await cookie(pending)),
  })) {
    refused(t, answer, 'ROUTE_NOT_FOUND', what);
  }
  for (const [what, answer] of Object.entries({
    'the callback of another provider': await after.get(moved, await cookie(waiting)),
    'the second factor at another provider': await after.post('/auth/login/other', { otp }, await cookie(pending)),
  })) {
    refused(t, answer, 'INVALID_CREDENTIALS', what);
  }
  for (const name of ['constructor', '__proto__', 'toString', 'default', 'ISSUER']) {
    refused(t, await after.get(`/auth/login/${name}`), 'ROUTE_NOT_FOUND', name);
  }
  t.equal(await digestOfAccounts(after.app), stored, 'nothing was stored');
  t.strictSame((await after.get('/auth')).json().data, [{ name: 'other', driver: 'openid' }]);
  t.equal((await login(after, 'other')).statusCode, 403, 'the other provider does not sign in a user of the first');
  issuer.useNewUser();
  t.equal((await login(after, 'other')).statusCode, 200, 'the other provider still works');
});

t.test('logins work with a PUBLIC_URL that has a path', async (t) => {
  const publicUrl = 'http://example.com/accounts';
  const testApp = await startTestApp(t, {
    PUBLIC_URL: publicUrl,
    AUTH_PROVIDERS: 'issuer',
    ...issuer.variables('issuer'),
  });
  /** The proxy in front of the service removes the path and does not change cookies. */
  const visitor = createVisitor(
    { request: (options) => testApp.request({ ...options, url: String(options.url).replace(/^\/accounts/, '') }) },
    publicUrl,
  );
  const start = async (redirect?: string) => {
    const query = redirect === undefined ? '' : `?redirect=${encodeURIComponent(redirect)}`;
    const begun = await visitor.visit(`/accounts/auth/login/issuer${query}`);
    t.equal(begun.statusCode, 302, begun.body);
    const url = new URL(String(begun.headers.location));
    t.equal(url.searchParams.get('redirect_uri'), `${publicUrl}/auth/login/issuer/callback`);
    return visitor.visit(await followRedirect(url.href));
  };
  issuer.useNewUser();
  const home = await start();
  t.equal(home.headers.location, '/accounts/', 'without a redirect');
  t.ok(setCookies(home)[sessionCookie]);
  t.equal((await start('/accounts/account')).headers.location, '/accounts/account');
  t.equal((await start('/elsewhere')).headers.location, '/elsewhere', 'a path of the same origin');
  issuer.lies = {
    callback: (truth) => new URLSearchParams({ error: 'access_denied', state: truth.get('state') ?? '' }),
  };
  sentBack(t, await start('/accounts/account?x=1'), '/accounts/account', 'INVALID_CREDENTIALS', 'a failed login');
  issuer.lies = {};
  t.match(await begin(createVisitor(testApp, 'http://example.com'), 'issuer'), /^http/);
});
