import t, { type Test } from 'tap';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { instancesBeside } from '../helpers/service/instances.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUser, storedUser } from '../helpers/users/users.js';

const before = 'the secret of before which is long enough';
const after = 'the secret from now on which is long enough';

const service = await startTestApp(t, { SECRET: before });
const { app: old, clock, post } = service;

/** A service with another SECRET, which receives the tokens of the first service. */
const successor = async (t: Test, variables: Record<string, string>) => (await startTestApp(t, variables)).app;

const claims = {
  id: '0198c3a0-0000-7000-8000-000000000001',
  role: null,
  app_access: false,
  admin_access: false,
  session: '0198c3a0-0000-7000-8000-000000000002',
};

t.test('tokens issued under a previous SECRET are still valid, and new ones use SECRET', async (t) => {
  const made = {
    access: old.accessTokens.issue(claims, new Date(clock.now().getTime() + day)),
    refresh: old.refreshTokens.issue({ sessionId: claims.session, generation: 3 }),
    link: old.linkTokens.issue({ scope: 'invite', userId: claims.id, state: [] }, day),
    sealed: old.tfaSecrets.seal('JBSWY3DPEHPK3PXP', claims.id),
  };
  const reads = async (app: typeof old, { access, refresh, link, sealed } = made) => {
    t.equal((await app.accessTokens.verify(access))?.session, claims.session);
    t.strictSame(app.refreshTokens.read(refresh), { sessionId: claims.session, generation: 3 });
    t.equal(app.linkTokens.read(link, 'invite').id, claims.id);
    t.equal(app.tfaSecrets.open(sealed, claims.id), 'JBSWY3DPEHPK3PXP');
  };
  const refuses = async (app: typeof old, { access, refresh, link, sealed } = made) => {
    await t.rejects(app.accessTokens.verify(access), { code: 'INVALID_TOKEN' });
    t.equal(app.refreshTokens.read(refresh), undefined);
    t.throws(() => app.linkTokens.read(link, 'invite'), { code: 'INVALID_TOKEN' });
    t.throws(() => app.tfaSecrets.open(sealed, claims.id));
  };

  const rotated = await successor(t, { SECRET: after, PREVIOUS_SECRETS: `${'x'.repeat(32)}, ${before}` });
  const changed = await successor(t, { SECRET: after });
  await reads(old);
  await reads(rotated);
  await refuses(changed);
  const recent = {
    access: rotated.accessTokens.issue(claims, new Date(clock.now().getTime() + day)),
    refresh: rotated.refreshTokens.issue({ sessionId: claims.session, generation: 3 }),
    link: rotated.linkTokens.issue({ scope: 'invite', userId: claims.id, state: [] }, day),
    sealed: rotated.tfaSecrets.seal('JBSWY3DPEHPK3PXP', claims.id),
  };
  await reads(rotated, recent);
  await reads(changed, recent);
  await refuses(old, recent);
  await reads(await successor(t, { SECRET: before, PREVIOUS_SECRETS: after }), recent);

  t.equal(rotated.tfaSecrets.renew(recent.sealed, claims.id), recent.sealed, 'a current secret stays unchanged');
  const renewed = rotated.tfaSecrets.renew(made.sealed, claims.id);
  t.equal(changed.tfaSecrets.open(renewed, claims.id), 'JBSWY3DPEHPK3PXP', 'an old secret can be renewed');
  t.throws(() => rotated.tfaSecrets.renew(made.sealed, claims.session), 'a secret cannot be renewed for another user');
});

t.test('with a previous SECRET, all other checks still apply', async (t) => {
  const rotated = await successor(t, { SECRET: after, PREVIOUS_SECRETS: before });
  const access = old.accessTokens.issue(claims, new Date(clock.now().getTime() + day));
  const link = old.linkTokens.issue({ scope: 'invite', userId: claims.id, state: [] }, day);
  const [head = '', body = '', tag = ''] = access.split('.');
  const said = JSON.parse(Buffer.from(body, 'base64url').toString());
  const alteredBody = Buffer.from(JSON.stringify({ ...said, admin_access: true })).toString('base64url');
  for (const [what, token] of Object.entries({
    'a token of another kind': link,
    'an altered body': `${head}.${alteredBody}.${tag}`,
    'no signature': `${head}.${body}.`,
    'alg none': `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${body}.`,
    truncated: access.slice(0, -1),
  })) {
    await t.rejects(rotated.accessTokens.verify(token), { code: 'INVALID_TOKEN' }, what);
  }
  const foreign = old.jwt.sign({ ...claims, iss: 'somebody else' });
  t.equal(await rotated.accessTokens.verify(foreign), undefined, 'another issuer');
  const late = old.accessTokens.issue(claims, new Date(clock.now().getTime() - day));
  await t.rejects(rotated.accessTokens.verify(late), { code: 'TOKEN_EXPIRED' });
});

t.test('requests with credentials from a previous SECRET succeed', async (t) => {
  const start = instancesBeside(t, service);
  const rotated = await start({ SECRET: after, PREVIOUS_SECRETS: before });
  const account = await createUser(old);
  const { data } = (await post('/auth/login', account)).json();
  const me = { url: '/users/me', headers: bearer(data.access_token) };
  t.equal((await rotated.inject(me)).statusCode, 200);
  const refresh = { method: 'POST', url: '/auth/refresh', payload: { refresh_token: data.refresh_token } } as const;
  t.equal((await rotated.inject(refresh)).statusCode, 200);

  const holder = await createSignedInUser(service, { tfa: true });
  const sealed = (await storedUser(old, holder.id)).tfaSecret;
  const login = (app: typeof old) => {
    const payload = { email: holder.email, password: holder.password, otp: codeOfStep(nextStep(service)) };
    return app.inject({ method: 'POST', url: '/auth/login', payload });
  };
  t.equal((await login(rotated)).statusCode, 200, 'a second factor stored under the previous SECRET is accepted');
  t.not((await storedUser(old, holder.id)).tfaSecret, sealed, 'it is encrypted again');
  const later = await start({ SECRET: after });
  t.equal((await login(later)).statusCode, 200, 'the previous SECRET can then be removed');
  t.equal(codeOf(await later.inject(me)), 'INVALID_TOKEN', 'its tokens are then rejected');
});
