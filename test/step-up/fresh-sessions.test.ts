import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { identities, sessions } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp, type TestApp } from '../helpers/service/app.js';
import { minute, second } from '../helpers/service/clock.js';
import { logIn, modes, refresh, sessionOf } from '../helpers/users/sessions.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { changeUser, createUser, createUserWithToken } from '../helpers/users/users.js';

const provider = {
  AUTH_PROVIDERS: 'forge',
  AUTH_FORGE_DRIVER: 'oauth2',
  AUTH_FORGE_CLIENT_ID: 'id',
  AUTH_FORGE_CLIENT_SECRET: 'secret',
  AUTH_FORGE_AUTHORIZE_URL: 'https://forge.example.com/authorize',
  AUTH_FORGE_ACCESS_URL: 'https://forge.example.com/token',
  AUTH_FORGE_PROFILE_URL: 'https://forge.example.com/profile',
};

/** An operation that requires a fresh session. With a fresh session, it fails for another reason. */
const unlink = ({ request }: TestApp, headers: Record<string, string>) =>
  request({ method: 'DELETE', url: `/users/me/identities/${randomUUID()}`, headers });

const methodsOf = (response: { json(): { errors: { extensions: { methods: string[] } }[] } }) =>
  response.json().errors[0]?.extensions.methods;

t.test(
  'a session is fresh for REAUTHENTICATION_PERIOD after its login, and a refresh does not extend this period',
  async (t) => {
    const service = await startTestApp(t);
    const account = await createUser(service.app);
    for (const mode of modes) {
      const session = await logIn(service, mode, account);
      refused(t, await unlink(service, session.headers), 'FORBIDDEN', `${mode}: at first`);
      service.clock.advance(14 * minute);
      refused(t, await unlink(service, session.headers), 'FORBIDDEN', `${mode}: within the period`);
      service.clock.advance(50 * second);
      const next = sessionOf(mode, await refresh(service, session));
      service.clock.advance(11 * second);
      const stale = await unlink(service, next.headers);
      refused(t, stale, 'REAUTHENTICATION_REQUIRED', `${mode}: after the period`);
      const { max_age: maxAge, methods } = stale.json().errors[0].extensions;
      t.strictSame({ maxAge, methods }, { maxAge: 900, methods: ['password'] });
      const again = await logIn(service, mode, account);
      refused(t, await unlink(service, again.headers), 'FORBIDDEN', `${mode}: a new login`);
      refused(t, await unlink(service, next.headers), 'REAUTHENTICATION_REQUIRED', `${mode}: the old one stays stale`);
    }
  },
);

t.test('an anonymous caller gets 401, and a static token gets 403', async (t) => {
  for (const period of ['15m', '0']) {
    const service = await startTestApp(t, { REAUTHENTICATION_PERIOD: period });
    refused(t, await unlink(service, {}), 'INVALID_CREDENTIALS', period);
    const response = await unlink(service, (await createUserWithToken(service.app)).headers);
    refused(t, response, 'FORBIDDEN', period);
    t.match(response.json().errors[0].extensions.reason, /static token/);
  }
});

t.test('with REAUTHENTICATION_PERIOD=0, no session has to be fresh', async (t) => {
  const service = await startTestApp(t, { REAUTHENTICATION_PERIOD: '0' });
  const { headers, accessToken } = await logIn(service, 'session', await createUser(service.app));
  service.clock.advance(60 * minute);
  const response = await unlink(service, headers);
  refused(t, response, 'FORBIDDEN', 'for another reason');
  t.notOk(response.body.includes('static token'), accessToken.slice(0, 5));
});

t.test('a login on an instance whose clock was ahead is not fresh for longer', async (t) => {
  const service = await startTestApp(t);
  const account = await createUser(service.app);
  const { headers } = await logIn(service, 'session', account);
  const ahead = new Date(service.clock.now().getTime() + 60 * minute);
  await service.app.db.update(sessions).set({ authenticatedAt: ahead }).where(eq(sessions.user, account.id));
  refused(t, await unlink(service, headers), 'REAUTHENTICATION_REQUIRED', 'an hour ahead');
});

t.test('the error lists how this user can prove their identity', async (t) => {
  const service = await startTestApp(t, provider);
  const { app, clock, post } = service;
  const link = (user: string, key: string) =>
    app.db
      .insert(identities)
      .values({ user, provider: key, identifier: user, email: null, isPrimary: false, createdAt: clock.now() });
  const methodsFor = async (user: { id: string; email: string; password: string }, otp?: string) => {
    const { email, password } = user;
    const response = await post('/auth/login', { email, password, ...(otp ? { otp } : {}) });
    const headers = bearer(response.json().data.access_token);
    return async () => {
      await app.db
        .update(sessions)
        .set({ authenticatedAt: new Date(0) })
        .where(eq(sessions.user, user.id));
      return methodsOf(await unlink(service, headers));
    };
  };

  const plain = await createUser(app);
  t.strictSame(await (await methodsFor(plain))(), ['password']);

  await link(plain.id, 'a provider that is no longer configured');
  t.strictSame(await (await methodsFor(plain))(), ['password']);
  await link(plain.id, 'forge');
  t.strictSame(await (await methodsFor(plain))(), ['password', 'provider']);

  const step = nextStep(service);
  const careful = await createUser(app, { tfa: true });
  t.strictSame(await (await methodsFor(careful, codeOfStep(step)))(), ['otp']);

  const foreign = await createUser(app);
  const methods = await methodsFor(foreign);
  await changeUser(app, foreign.id, { provider: 'forge', externalIdentifier: 'octo' });
  t.strictSame(await methods(), ['email']);
  await link(foreign.id, 'forge');
  t.strictSame(await methods(), ['email', 'provider'], 'a password that cannot sign the user in is not listed');
});
