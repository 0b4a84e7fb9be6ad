import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { roles } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { startHostileIssuers } from '../helpers/providers/hostile-provider.js';
import { digestOfAccounts, sessionsOf, userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin, signInCookies } from '../helpers/providers/refused-logins.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { createRole } from '../helpers/users/rights.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy, wrongCode } from '../helpers/users/two-factor.js';
import { changeUser, codesLeft } from '../helpers/users/users.js';

const publicUrl = 'http://gatehouse.example.com';
const { issuer } = await startHostileIssuers(t, ['issuer']);
/** The id of a role that does not exist yet. */
const mapped = '7a3b0c1e-8f51-4f2b-9f52-0a4a8a6d3c13';
const testApp = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'issuer,synced,mapped',
  ...issuer.variables('issuer', { MODE: 'json' }),
  ...issuer.variables('synced', { SYNC_USER_INFO: 'true' }),
  ...issuer.variables('mapped', { ROLE_MAPPING: JSON.stringify({ ghosts: mapped }) }),
});
const { app, clock, post } = testApp;
const policy = await ownSecretPolicy(app);

/** Returns from the provider as a user with two-factor authentication, and prepares the requests that can follow. */
async function waiting() {
  const { sub } = issuer.useNewUser();
  const login = (visitor = createVisitor(testApp, publicUrl)) =>
    completeLogin(visitor, 'issuer', { family: 'oauth' }, followRedirect);
  const first = await login();
  const headers = bearer(first.json().data.access_token);
  const { id } = (await userBehind(app, 'issuer', sub))?.user ?? { id: '' };
  await changeUser(app, id, {
    role: await createRole(app, { policies: [policy] }),
    tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id),
  });
  const visitor = createVisitor(testApp, publicUrl);
  const response = await login(visitor);
  const cookie = await visitor.cookies('/auth/login/issuer');
  const complete = (otp: string, sent: Record<string, string> = { cookie }) =>
    post('/auth/login/issuer', { otp }, sent);
  return { id, response, headers, cookie, login, complete };
}

const isSignedIn = (t: Test, response: LightMyRequestResponse, what: string) =>
  t.equal(response.statusCode, 200, `${what}: ${response.statusCode === 200 ? 'signed in' : response.body}`);

t.test('a page on another site cannot complete a login', async (t) => {
  const { cookie, complete } = await waiting();
  const foreign = { cookie, origin: 'https://elsewhere.example' };
  refused(t, await complete('000000', foreign), 'FORBIDDEN', 'from another site');
  refused(t, await complete('000000'), 'INVALID_OTP', 'the login is still pending');
});

t.test('a recovery code works in place of a code, but only once', async (t) => {
  const { id, response, headers, complete, login } = await waiting();
  refusedLogin(t, response, 'INVALID_OTP', 'asked for a code');
  const otp = codeOfStep(nextStep(testApp));
  const made = await post('/users/me/tfa/recovery-codes', { otp }, headers);
  const [code = '', second = ''] = made.json().data;
  const fresh = async () => {
    const visitor = createVisitor(testApp, publicUrl);
    refusedLogin(t, await login(visitor), 'INVALID_OTP', 'asked again');
    return { cookie: await visitor.cookies('/auth/login/issuer') };
  };
  isSignedIn(t, await complete(code.toUpperCase()), 'with the first code');
  refused(t, await complete(code, await fresh()), 'INVALID_OTP', 'with the first code again');
  isSignedIn(t, await complete(second, await fresh()), 'with the second code');
  t.equal(await codesLeft(app, id), 8);
});

t.test('a login that requires a code can be completed only once (CVE-2026-34224)', async (t) => {
  const { id, complete } = await waiting();
  isSignedIn(t, await complete(codeOfStep(nextStep(testApp))), 'the first time');
  const count = (await sessionsOf(app, id)).length;
  refused(t, await complete(codeOfStep(nextStep(testApp))), 'INVALID_CREDENTIALS', 'the same cookie and another code');
  t.equal((await sessionsOf(app, id)).length, count, 'no session was created');
});

t.test('only one of twenty simultaneous completions succeeds', async (t) => {
  const { id, complete } = await waiting();
  const count = (await sessionsOf(app, id)).length;
  const otp = codeOfStep(nextStep(testApp));
  const responses = await Promise.all(Array.from({ length: 20 }, () => complete(otp)));
  t.equal(responses.filter(({ statusCode }) => statusCode === 200).length, 1);
  for (const response of responses.filter(({ statusCode }) => statusCode !== 200)) {
    t.match(response.json().errors[0].extensions.code, /^(INVALID_OTP|INVALID_CREDENTIALS|REQUESTS_EXCEEDED)$/);
    t.strictSame(signInCookies(response), []);
  }
  t.equal((await sessionsOf(app, id)).length, count + 1);
});

t.test('wrong codes are counted across logins', async (t) => {
  const { id, login } = await waiting();
  const step = nextStep(testApp);
  const guess = async (otp: string) => {
    const visitor = createVisitor(testApp, publicUrl);
    await login(visitor);
    return visitor.send({ method: 'POST', url: '/auth/login/issuer', payload: { otp } });
  };
  for (let guesses = 0; guesses < 5; guesses++) refused(t, await guess(wrongCode(step)), 'INVALID_OTP', 'a wrong code');
  const locked = await guess(codeOfStep(step));
  refused(t, locked, 'REQUESTS_EXCEEDED', 'even the right code, after five wrong ones');
  t.ok(Number(locked.headers['retry-after']) > 0);
  const count = (await sessionsOf(app, id)).length;
  clock.advance(minute);
  isSignedIn(t, await guess(codeOfStep(nextStep(testApp))), 'a minute later');
  t.equal((await sessionsOf(app, id)).length, count + 1);
});

t.test('the profile is updated only after the second factor is verified', async (t) => {
  const { sub } = issuer.useNewUser();
  const truth = issuer.claims;
  const login = async (claims: object, visitor = createVisitor(testApp, publicUrl)) => {
    issuer.claims = { ...truth, ...claims };
    return { visitor, response: await completeLogin(visitor, 'synced', { family: 'oauth' }, followRedirect) };
  };
  const first = (await login({})).response.json().data;
  const { id } = (await userBehind(app, 'synced', sub))?.user ?? { id: '' };
  await changeUser(app, id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
  const before = await digestOfAccounts(app);
  const told = { email: `moved-${sub}@example.com`, given_name: 'Mallory', nickname: 'M' };
  const { visitor, response } = await login(told);
  refusedLogin(t, response, 'INVALID_OTP', 'asked for a code');
  t.equal(await digestOfAccounts(app), before);
  t.equal((await testApp.get('/users/me', bearer(first.access_token))).statusCode, 200, 'the old session still works');

  const complete = (otp: string) => visitor.send({ method: 'POST', url: '/auth/login/synced', payload: { otp } });
  refused(t, await complete('000000'), 'INVALID_OTP', 'a wrong code');
  isSignedIn(t, await complete(codeOfStep(nextStep(testApp))), 'with the code');
  const { user } = (await userBehind(app, 'synced', sub)) ?? {};
  t.match(user, { email: told.email, firstName: 'Mallory', authData: { nickname: 'M' } }, 'the profile is updated');

  const large = await login({ email: told.email, biography: 'x'.repeat(5_000), given_name: 'Ada' });
  const otp = codeOfStep(nextStep(testApp));
  isSignedIn(
    t,
    await large.visitor.send({ method: 'POST', url: '/auth/login/synced', payload: { otp } }),
    'a long profile',
  );
  const after = (await userBehind(app, 'synced', sub))?.user;
  t.match(after, { firstName: 'Ada', authData: { nickname: 'M' } }, 'data too large for a cookie is not stored');
});

t.test('a login through /auth/oauth ends with tokens in JSON, whatever the mode of the provider', async (t) => {
  const { sub } = issuer.useNewUser();
  const start = (form: 'oauth' | 'login', visitor: ReturnType<typeof createVisitor>) =>
    completeLogin(visitor, 'synced', { family: form }, followRedirect);
  await start('oauth', createVisitor(testApp, publicUrl));
  const { id } = (await userBehind(app, 'synced', sub))?.user ?? { id: '' };
  await changeUser(app, id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
  for (const [form, names] of [
    ['oauth', ['access_token', 'expires', 'refresh_token']],
    ['login', ['expires']],
  ] as const) {
    const visitor = createVisitor(testApp, publicUrl);
    refusedLogin(t, await start(form, visitor), 'INVALID_OTP', form);
    const otp = codeOfStep(nextStep(testApp));
    const response = await visitor.send({ method: 'POST', url: '/auth/login/synced', payload: { otp } });
    isSignedIn(t, response, form);
    t.strictSame(Object.keys(response.json().data).sort(), names);
  }
});

t.test('roles from groups are assigned when the login is completed', async (t) => {
  const { sub } = issuer.useNewUser();
  const truth = issuer.claims;
  const login = (groups: string[], visitor = createVisitor(testApp, publicUrl)) => {
    issuer.claims = { ...truth, groups };
    return completeLogin(visitor, 'mapped', { family: 'oauth' }, followRedirect);
  };
  // The issuer uses the real time, and earlier tests have advanced the clock of the service.
  clock.advance(Date.now() - clock.now().getTime());
  t.equal((await login([])).statusCode, 200);
  const { id } = (await userBehind(app, 'mapped', sub))?.user ?? { id: '' };
  await changeUser(app, id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
  const visitor = createVisitor(testApp, publicUrl);
  refusedLogin(t, await login(['strangers', 'ghosts'], visitor), 'INVALID_OTP', 'asked for a code');
  const complete = () =>
    visitor.send({ method: 'POST', url: '/auth/login/mapped', payload: { otp: codeOfStep(nextStep(testApp)) } });
  refused(t, await complete(), 'INVALID_PROVIDER_CONFIG', 'a role that does not exist');
  await app.db.insert(roles).values({ id: mapped, name: 'Ghosts' });
  isSignedIn(t, await complete(), 'now that the role exists');
  t.equal((await userBehind(app, 'mapped', sub))?.user.role, mapped);
});
