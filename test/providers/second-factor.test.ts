import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { updateAccount } from '../helpers/accounts.js';
import { bearer, startTestApp } from '../helpers/app.js';
import { minute } from '../helpers/clock.js';
import { startHostileIssuers } from '../helpers/hostile-provider.js';
import { sessionsOf, userBehind } from '../helpers/provider-records.js';
import { createRole } from '../helpers/records.js';
import { refused } from '../helpers/refusals.js';
import { refusedLogin, signInCookies } from '../helpers/refused-logins.js';
import { codeOfStep, rfcSecret } from '../helpers/totp.js';
import { codesLeft, nextStep, ownSecretPolicy, wrongCode } from '../helpers/two-factor.js';
import { createVisitor, goThrough, passThrough } from '../helpers/visitor.js';

const publicUrl = 'http://gatehouse.example.com';
const { issuer } = await startHostileIssuers(t, ['issuer']);
const testApp = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'issuer',
  ...issuer.variables('issuer', { MODE: 'json' }),
});
const { app, clock, post } = testApp;
const policy = await ownSecretPolicy(app);

/** Somebody with two-factor authentication who has come back from the provider, and what they may send next. */
async function waiting() {
  const { sub } = issuer.newcomer();
  const login = (visitor = createVisitor(testApp, publicUrl)) =>
    goThrough(visitor, 'issuer', { family: 'oauth' }, passThrough);
  const first = await login();
  const headers = bearer(first.json().data.access_token);
  const { id } = (await userBehind(app, 'issuer', sub))?.user ?? { id: '' };
  await updateAccount(app, id, {
    role: await createRole(app, { policies: [policy] }),
    tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id),
  });
  const visitor = createVisitor(testApp, publicUrl);
  const response = await login(visitor);
  const cookie = await visitor.cookies('/auth/login/issuer');
  const complete = (otp: string, sent: Record<string, string> = { cookie }) =>
    post('/auth/login/issuer', { otp }, sent);
  return { id, response, headers, login, complete };
}

const isSignedIn = (t: Test, response: LightMyRequestResponse, what: string) =>
  t.equal(response.statusCode, 200, `${what}: ${response.statusCode === 200 ? 'signed in' : response.body}`);

t.test('a recovery code does in the place of a code, once', async (t) => {
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
  isSignedIn(t, await complete(code.toUpperCase()), 'with the first');
  refused(t, await complete(code, await fresh()), 'INVALID_OTP', 'with the first again');
  isSignedIn(t, await complete(second, await fresh()), 'with the second');
  t.equal(await codesLeft(app, id), 8);
});

t.test('a login that has come back is completed once', async (t) => {
  const { id, complete } = await waiting();
  isSignedIn(t, await complete(codeOfStep(nextStep(testApp))), 'the first time');
  const count = (await sessionsOf(app, id)).length;
  refused(
    t,
    await complete(codeOfStep(nextStep(testApp))),
    'INVALID_CREDENTIALS',
    'the same cookie, with another code',
  );
  t.equal((await sessionsOf(app, id)).length, count, 'no session');
});

t.test('once, also twenty times at once', async (t) => {
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

t.test('guesses are counted across logins', async (t) => {
  const { id, login } = await waiting();
  const step = nextStep(testApp);
  const guess = async (otp: string) => {
    const visitor = createVisitor(testApp, publicUrl);
    await login(visitor);
    return visitor.send({ method: 'POST', url: '/auth/login/issuer', payload: { otp } });
  };
  for (let guesses = 0; guesses < 5; guesses++) refused(t, await guess(wrongCode(step)), 'INVALID_OTP', 'a guess');
  const locked = await guess(codeOfStep(step));
  refused(t, locked, 'REQUESTS_EXCEEDED', 'even the right code, after five wrong ones');
  t.ok(Number(locked.headers['retry-after']) > 0);
  const count = (await sessionsOf(app, id)).length;
  clock.advance(minute);
  isSignedIn(t, await guess(codeOfStep(nextStep(testApp))), 'a minute later');
  t.equal((await sessionsOf(app, id)).length, count + 1);
});
