import { randomInt, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { identities, sessions, settings } from '../../db/schema.js';
import { startWithAdmin } from '../helpers/http/writing.js';
import { codeIn, findCode, linkIn, mailsTo } from '../helpers/mail/mails.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { bearer } from '../helpers/service/app.js';
import type { Authenticator } from '../helpers/users/authenticator.js';
import { addPasskey, addPasskeyTo, assertion, signIn } from '../helpers/users/passkeys.js';
import { claimsOf } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser, type SignedInUser } from '../helpers/users/users.js';

/** What is stored in `amr` of a session, for every way of signing in, and for everything that is proved in it afterwards. */

const publicUrl = 'http://gatehouse.example.com';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha'] });
const service = await startWithAdmin(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'alpha',
  ...server.variables('alpha', { MODE: 'json' }),
});
const { app, get, post } = service;
await app.db.update(settings).set({ emailLogin: true });

type Headers = Record<string, string>;

const newOtp = () => ({ otp: codeOfStep(nextStep(service)) });

async function storedMethods(headers: Headers): Promise<string[] | undefined> {
  const { session } = claimsOf(headers.authorization ?? '');
  const [stored] = await app.db
    .select({ amr: sessions.amr })
    .from(sessions)
    .where(eq(sessions.id, String(session)));
  return stored?.amr;
}

const headersOf = (response: LightMyRequestResponse): Headers => {
  if (response.statusCode !== 200) throw new Error(`Not signed in: ${response.statusCode} ${response.body}`);
  return bearer(response.json().data.access_token);
};

const logIn = async ({ email, password }: SignedInUser, more: object = {}) =>
  headersOf(await post('/auth/login', { email, password, ...more }));

const logInWith = async (authenticator: Authenticator, changes: object = {}, more: object = {}) =>
  headersOf(await signIn(service, authenticator, changes, more));

/** An email with a code that a new browser requests. */
async function requestEmail({ email }: SignedInUser) {
  const visitor = createVisitor(service, publicUrl);
  await visitor.send({ method: 'POST', url: '/auth/email/request', payload: { email } });
  const mail = (await mailsTo(app, email)).findLast(findCode);
  if (!mail) throw new Error(`There is no email with a code to ${email}.`);
  return { visitor, code: codeIn(mail), token: linkIn(mail).searchParams.get('token') };
}

const logInByEmail = async (user: SignedInUser, more: object = {}) => {
  const { visitor, code } = await requestEmail(user);
  const payload = { email: user.email, code, ...more };
  return headersOf(await visitor.send({ method: 'POST', url: '/auth/email', payload }));
};

const logInThroughProvider = async ({ id }: SignedInUser, code?: object) => {
  const identifier = String(randomInt(2 ** 47));
  await app.db.insert(identities).values({ user: id, provider: 'alpha', identifier, createdAt: app.clock() });
  server.profile = { id: Number(identifier), name: 'Ada', email: null };
  const visitor = createVisitor(service, publicUrl);
  const first = await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect);
  if (code === undefined) return headersOf(first);
  return headersOf(await visitor.send({ method: 'POST', url: '/auth/login/alpha', payload: code }));
};

const deviceBound = { synchronizes: false };
const unverified = { userVerified: false };

type SignIn = (user: SignedInUser) => Promise<Headers>;
const ways: [string, 'app' | 'no app', SignIn, string[]][] = [
  ['password', 'no app', (user) => logIn(user), ['pwd']],
  ['password and code', 'app', (user) => logIn(user, newOtp()), ['mfa', 'otp', 'pwd']],
  [
    'password and recovery code',
    'app',
    async (user) => {
      const { headers, password } = user;
      const created = await post('/users/me/tfa/recovery-codes', { password, ...newOtp() }, headers);
      return logIn(user, { otp: created.json().data[0] });
    },
    ['mfa', 'otp', 'pwd'],
  ],
  ['a code that is not required', 'no app', (user) => logIn(user, { otp: '123456' }), ['pwd']],
  ['email code', 'no app', (user) => logInByEmail(user), ['email']],
  ['email code and code', 'app', (user) => logInByEmail(user, newOtp()), ['email', 'mfa', 'otp']],
  [
    'email link',
    'no app',
    async (user) => headersOf(await post('/auth/email', { token: (await requestEmail(user)).token })),
    ['email'],
  ],
  ['provider', 'no app', (user) => logInThroughProvider(user), ['fed']],
  ['provider and code', 'app', (user) => logInThroughProvider(user, newOtp()), ['fed', 'mfa', 'otp']],
  [
    'synchronized passkey',
    'no app',
    async ({ id }) => logInWith(await addPasskeyTo(service, id)),
    ['mfa', 'swk', 'user'],
  ],
  [
    'device-bound passkey',
    'app',
    async ({ id }) => logInWith(await addPasskeyTo(service, id, deviceBound)),
    ['hwk', 'mfa', 'user'],
  ],
  [
    'passkey without verification',
    'no app',
    async ({ id }) => logInWith(await addPasskeyTo(service, id), unverified),
    ['swk'],
  ],
  [
    'passkey without verification, and code',
    'app',
    async ({ id }) => logInWith(await addPasskeyTo(service, id, deviceBound), unverified, newOtp()),
    ['hwk', 'mfa', 'otp'],
  ],
];

for (const [name, factor, signInWith, expected] of ways) {
  t.test(`signing in: ${name}`, async (t) => {
    const user = await createSignedInUser(service, factor === 'app' ? { tfa: true } : {});
    const headers = await signInWith(user);
    t.strictSame(await storedMethods(headers), expected);
    const exported = await get('/users/me/export', headers);
    const { session } = claimsOf(headers.authorization ?? '');
    const found = exported.json().data.sessions.find(({ id }: { id: unknown }) => id === session);
    t.strictSame(found.amr, expected, 'the export contains them');
  });
}

t.test('signing in: registration through a provider', async (t) => {
  const variables = { MODE: 'json', ALLOW_PUBLIC_REGISTRATION: 'true' };
  const open = await startWithAdmin(t, {
    PUBLIC_URL: publicUrl,
    AUTH_PROVIDERS: 'alpha',
    ...server.variables('alpha', variables),
  });
  server.profile = { id: randomInt(2 ** 47), name: 'Ada', email: null };
  const visitor = createVisitor(open, publicUrl);
  const headers = headersOf(await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect));
  t.strictSame((await open.get('/users/me/export', headers)).json().data.sessions[0].amr, ['fed']);
});

const prove = async (headers: Headers, body: object) => {
  const response = await post('/auth/reauthenticate', body, headers);
  if (response.statusCode !== 204) throw new Error(`Not proved: ${response.body}`);
};

t.test('what is proved in a session is added', async (t) => {
  const user = await createSignedInUser(service);
  const [headers, other] = [await logInByEmail(user), await logIn(user)];
  const { password } = user;
  await prove(headers, { password });
  t.strictSame(await storedMethods(headers), ['email', 'pwd'], 'the password');
  await prove(headers, { password });
  t.strictSame(await storedMethods(headers), ['email', 'pwd'], 'the password again');
  t.equal((await post('/auth/reauthenticate', { otp: '123456' }, headers)).statusCode, 401);
  t.equal((await post('/auth/reauthenticate', { password: 'wrong' }, headers)).statusCode, 401);
  t.strictSame(await storedMethods(headers), ['email', 'pwd'], 'nothing');

  const passkey = await addPasskey(service, headers, { ...deviceBound, verifies: false });
  t.strictSame(await storedMethods(headers), ['email', 'pwd'], 'a new passkey that has not verified the user');
  await prove(headers, { credential: await assertion(service, passkey, unverified) });
  t.strictSame(await storedMethods(headers), ['email', 'hwk', 'pwd'], 'a passkey that has not verified the user');
  await addPasskey(service, headers);
  const both = ['email', 'hwk', 'mfa', 'pwd', 'swk', 'user'];
  t.strictSame(await storedMethods(headers), both, 'a new passkey that has verified the user');
  t.strictSame(await storedMethods(other), ['pwd'], 'other sessions do not change');

  const refreshed = await post('/auth/login', { email: user.email, password });
  const next = await post('/auth/refresh', { refresh_token: refreshed.json().data.refresh_token });
  t.strictSame(await storedMethods(headersOf(next)), ['pwd'], 'a refresh keeps them');
});

t.test('a code that is proved in a session is a second factor', async (t) => {
  const user = await createSignedInUser(service);
  const headers = await logIn(user);
  await post('/users/me/tfa/generate', { password: user.password }, headers);
  t.strictSame(await storedMethods(headers), ['pwd'], 'a new secret');
  const enabled = await post('/users/me/tfa/enable', { secret: rfcSecret.base32, ...newOtp() }, headers);
  t.equal(enabled.statusCode, 204);
  t.strictSame(await storedMethods(headers), ['mfa', 'otp', 'pwd'], 'a code that turns two-factor authentication on');

  const app2 = await createSignedInUser(service, { tfa: true });
  const session = await logInWith(await addPasskeyTo(service, app2.id), unverified, newOtp());
  await app.db
    .update(sessions)
    .set({ amr: ['email'] })
    .where(eq(sessions.user, app2.id));
  await prove(session, newOtp());
  t.strictSame(await storedMethods(session), ['email', 'mfa', 'otp'], 'a code');
});

t.test('a code from an email confirms an identity', async (t) => {
  const user = await createSignedInUser(service, { password: null, email: `${randomUUID()}@example.com` });
  const headers = await logInThroughProvider(user);
  await post('/auth/email/request', {}, headers);
  const mail = (await mailsTo(app, user.email)).findLast(findCode);
  if (!mail) throw new Error('There is no email with a code.');
  await prove(headers, { code: codeIn(mail) });
  t.strictSame(await storedMethods(headers), ['email', 'fed']);
});

t.test('in a session that an earlier version started, only what is proved later is known', async (t) => {
  const user = await createSignedInUser(service);
  t.strictSame(await storedMethods(user.headers), []);
  await prove(user.headers, { password: user.password });
  t.strictSame(await storedMethods(user.headers), ['pwd']);
});
