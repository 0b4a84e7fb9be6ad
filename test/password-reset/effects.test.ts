import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { emailChanges, identities } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { bearer, startTestApp, type TestApp } from '../helpers/service/app.js';
import { day, hour } from '../helpers/service/clock.js';
import { addPasskey, signIn } from '../helpers/users/passkeys.js';
import { policyWith } from '../helpers/users/rights.js';
import { logIn } from '../helpers/users/sessions.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUser, type NewUser, storedUser } from '../helpers/users/users.js';

const providers = {
  AUTH_PROVIDERS: 'google,github',
  AUTH_GOOGLE_DRIVER: 'openid',
  AUTH_GOOGLE_LABEL: 'Google & Co',
  AUTH_GOOGLE_CLIENT_ID: 'x',
  AUTH_GOOGLE_CLIENT_SECRET: 'x',
  AUTH_GOOGLE_ISSUER_URL: 'https://google.example.com',
  AUTH_GITHUB_DRIVER: 'oauth2',
  AUTH_GITHUB_CLIENT_ID: 'x',
  AUTH_GITHUB_CLIENT_SECRET: 'x',
  AUTH_GITHUB_AUTHORIZE_URL: 'https://github.example.com/a',
  AUTH_GITHUB_ACCESS_URL: 'https://github.example.com/b',
  AUTH_GITHUB_PROFILE_URL: 'https://github.example.com/c',
};
const password = 'an entirely new password';

let count = 0;

/** An account that an attacker has taken over and prepared for later access. */
async function takenOver(service: TestApp, values: NewUser = {}) {
  const { app, post, request } = service;
  const policy = await policyWith(app, [
    { collection: 'users', action: 'update', fields: ['token'], permissions: { id: { _eq: '$CURRENT_USER' } } },
  ]);
  const owner = await createUser(app, { policies: [policy], ...values });
  const thief = await logIn(service, 'json', owner);
  const token = `a-static-token-that-a-thief-has-planted-${++count}`;
  const planted = await request({ method: 'PATCH', url: '/users/me', payload: { token }, headers: thief.headers });
  if (planted.statusCode >= 300) throw new Error(planted.body);
  const identifier = `thief-${count}`;
  const createdAt = service.clock.now();
  await app.db.insert(identities).values({ user: owner.id, provider: 'google', identifier, createdAt });
  const email = `thief-${count}@example.org`;
  if ((await post('/users/me/email', { email }, thief.headers)).statusCode !== 204)
    throw new Error('The email change was not accepted.');
  const passkey = await addPasskey(service, thief.headers);
  return { owner, thief, token, email, passkey, confirmation: await tokenFor(app, email) };
}

async function resets({ app, post }: TestApp, t: Test, email: string) {
  t.equal((await post('/auth/password/request', { email })).statusCode, 204);
  t.equal((await post('/auth/password/reset', { token: await tokenFor(app, email), password })).statusCode, 204);
  return (await mailsTo(app, email)).at(-1);
}

const linkedTo = async ({ app }: TestApp, id: string) =>
  (await app.db.select().from(identities).where(eq(identities.user, id))).map(({ identifier }) => identifier);

t.test('a password reset by the owner removes what an attacker has planted', async (t) => {
  const service = await startTestApp(t, providers);
  const { app, get, post, clock } = service;
  const { owner, thief, token, email, passkey, confirmation } = await takenOver(service);
  t.equal((await get('/users/me', bearer(token))).statusCode, 200, 'the token works');
  clock.advance(6 * day + 23 * hour);
  const notice = await resets(service, t, owner.email);

  refused(t, await get('/users/me', bearer(token)), 'INVALID_CREDENTIALS', 'the static token');
  refused(t, await get('/users/me', thief.headers), 'TOKEN_EXPIRED', 'the access token');
  refused(t, await post('/auth/refresh', thief.carrier.payload), 'INVALID_CREDENTIALS', 'the session');
  t.strictSame(await linkedTo(service, owner.id), [], 'the linked identity');
  refused(t, await signIn(service, passkey), 'INVALID_CREDENTIALS', 'the passkey');
  refused(t, await post('/users/me/email/confirm', { token: confirmation }), 'FORBIDDEN', 'the pending address');
  t.equal(await app.db.$count(emailChanges), 0);
  t.equal((await storedUser(app, owner.id)).email, owner.email);
  t.equal((await mailsTo(app, email)).length, 1);

  for (const body of [notice?.text, notice?.html.replaceAll('&amp;', '&')]) {
    const [, removed = '', remaining = ''] =
      /These were removed([\s\S]*)These can still be used([\s\S]*)When:/.exec(body ?? '') ?? [];
    for (const item of [
      ...['A static token', 'Passkey sign-in', 'Google & Co sign-in', 'change to your email address'],
    ]) {
      t.ok(removed.includes(item), item);
      t.notOk(remaining.includes(item), item);
    }
    t.ok(remaining.includes('Your new password'));
  }
});

t.test('a password reset voids recovery codes that an attacker has created, and keeps older ones', async (t) => {
  const service = await startTestApp(t, { REAUTHENTICATION_PERIOD: '30d' });
  const { clock } = service;
  const own = await ownSecretPolicy(service.app);
  const withCodes = async () => {
    const owner = await createSignedInUser(service, { tfa: true, policies: [own] });
    const created = await owner.renewCodes({ password: owner.password });
    t.equal(created.statusCode, 200);
    const [code = ''] = created.json().data as string[];
    return {
      owner,
      code,
      signsIn: (otp: string) => service.post('/auth/login', { email: owner.email, password, otp }),
    };
  };
  const recent = await withCodes();
  clock.advance(6 * day + 23 * hour);
  const notice = await resets(service, t, recent.owner.email);
  refused(t, await recent.signsIn(recent.code), 'INVALID_OTP', 'the recovery code');
  t.equal((await recent.signsIn(codeOfStep(nextStep(service)))).statusCode, 200, 'the authenticator app');
  for (const body of [notice?.text, notice?.html]) {
    t.match(body, /These were removed[\s\S]*Your recovery codes[\s\S]*These can still be used/);
  }

  const old = await withCodes();
  clock.advance(7 * day + hour);
  t.notMatch((await resets(service, t, old.owner.email))?.text, /recovery codes/);
  t.equal((await old.signsIn(old.code)).statusCode, 200, 'an older code');
});

t.test('a reset cancels a pending address change while its link is still valid', async (t) => {
  const service = await startTestApp(t, { ...providers, PASSWORD_RESET_LOOKBACK: '0' });
  const { owner, confirmation } = await takenOver(service);
  await resets(service, t, owner.email);
  refused(t, await service.post('/users/me/email/confirm', { token: confirmation }), 'FORBIDDEN', 'an invalid link');
  t.equal((await storedUser(service.app, owner.id)).email, owner.email);
});

t.test('credentials older than the lookback period are kept', async (t) => {
  const service = await startTestApp(t, providers);
  const { app, get, clock } = service;
  const { owner, token, passkey } = await takenOver(service);
  const old = await createUser(app, { token: 'a-static-token-of-unknown-age', tokenSetAt: null });
  clock.advance(7 * day + hour);
  await app.db
    .insert(identities)
    .values({ user: owner.id, provider: 'github', identifier: 'late', createdAt: clock.now() });
  const notice = await resets(service, t, owner.email);
  t.equal((await get('/users/me', bearer(token))).statusCode, 200, 'the static token');
  t.strictSame(await linkedTo(service, owner.id), [`thief-${count}`], 'the linked identity');
  t.equal((await signIn(service, passkey)).statusCode, 200, 'the passkey');
  const [, removed = '', remaining = ''] =
    /These were removed([\s\S]*)These can still be used([\s\S]*)When:/.exec(notice?.text ?? '') ?? [];
  t.match(removed, /GitHub/);
  t.match(remaining, /A static token[\s\S]*Passkey sign-in[\s\S]*Google & Co/);
  await resets(service, t, old.email);
  t.equal((await get('/users/me', bearer('a-static-token-of-unknown-age'))).statusCode, 200);
});

t.test('PASSWORD_RESET_LOOKBACK=0 removes only sessions and the pending address change', async (t) => {
  const service = await startTestApp(t, { ...providers, PASSWORD_RESET_LOOKBACK: '0' });
  const { owner, token, thief } = await takenOver(service);
  const notice = await resets(service, t, owner.email);
  t.equal((await service.get('/users/me', bearer(token))).statusCode, 200);
  t.equal((await linkedTo(service, owner.id)).length, 1);
  t.equal((await service.get('/users/me', thief.headers)).statusCode, 401);
  t.equal(await service.app.db.$count(emailChanges), 0);
  t.match(notice?.text, /These can still be used[\s\S]*A static token[\s\S]*Google & Co/);
});
