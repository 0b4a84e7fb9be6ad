import { eq } from 'drizzle-orm';
import t from 'tap';
import { users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { type Claims, logInAt, startOpenIdProvider } from '../helpers/providers/openid-provider.js';
import { userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin } from '../helpers/providers/refused-logins.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { collectLog } from '../helpers/service/collect-log.js';
import { openSession } from '../helpers/users/sessions.js';
import { changeUser, createUser } from '../helpers/users/users.js';

const publicUrl = 'http://gatehouse.example.com';
const openIdKeys = ['plain', 'synced', 'trusted', 'strict', 'nested'] as const;
const oauthKeys = ['oauth', 'oauth-distrusted', 'oauth-strict'] as const;

const provider = await startOpenIdProvider(t, { publicUrl, keys: openIdKeys });
const server = await startOauth2Server(t, { publicUrl, keys: oauthKeys });
const open = { ALLOW_PUBLIC_REGISTRATION: 'true' };
const sync = { ...open, SYNC_USER_INFO: 'true' };
const { lines, logger } = collectLog('warn');
const variables = {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: [...openIdKeys, ...oauthKeys].join(','),
  ...provider.variables('plain', open),
  ...provider.variables('synced', sync),
  ...provider.variables('trusted', { ...sync, TRUST_EMAIL: 'true' }),
  ...provider.variables('strict', { ...open, TRUST_EMAIL: 'true', REQUIRE_VERIFIED_EMAIL: 'true' }),
  ...provider.variables('nested', { ...open, EMAIL_KEY: 'preferred_username' }),
  ...server.variables('oauth', sync),
  ...server.variables('oauth-distrusted', { ...sync, TRUST_EMAIL: 'false' }),
  ...server.variables('oauth-strict', { ...open, REQUIRE_VERIFIED_EMAIL: 'true' }),
};
const testApp = await startTestApp(t, variables, { logger });
const { app, clock } = testApp;

/** Values other than `true`, including those that a careless check would accept. */
const notTrue = [undefined, false, null, 0, 1, '', 'TRUE', 'True', 'yes', [true], { true: true }];

let people = 0;

function newPerson(claims: Partial<Claims> = {}) {
  const name = `person-${++people}`;
  const email = `${name}@example.com`;
  const all = { sub: name, email, given_name: 'Ada', family_name: 'Lovelace', ...claims };
  provider.setAccount(name, all);
  return { name, email, change: (changed: object) => provider.setAccount(name, { ...all, ...changed }) };
}

const logIn = (key: (typeof openIdKeys)[number], account: string) => {
  const visitor = createVisitor(testApp, publicUrl);
  return completeLogin(visitor, key, { family: 'oauth' }, (url) => logInAt(provider, url, visitor.jar, account));
};

const logInByOauth = (key: (typeof oauthKeys)[number]) =>
  completeLogin(createVisitor(testApp, publicUrl), key, { family: 'oauth' }, followRedirect);

async function userAfter(key: (typeof openIdKeys)[number], account: string) {
  const response = await logIn(key, account);
  if (response.statusCode !== 200) throw new Error(`${key}, ${account}: ${response.body}`);
  const found = await userBehind(app, key, account);
  if (!found) throw new Error(`${account} of ${key} has no user.`);
  return found.user;
}

const holdersOf = async (email: string) => app.db.select().from(users).where(eq(users.email, email));

t.test('an email address is stored only if the provider marks it as verified', async (t) => {
  for (const email_verified of notTrue) {
    const { name, email } = newPerson({ email_verified });
    t.match(await userAfter('plain', name), { email: null, emailVerifiedAt: null, firstName: 'Ada' });
    t.strictSame(await holdersOf(email), [], JSON.stringify(email_verified) ?? 'none');
  }
  const { name, email } = newPerson({ email_verified: true });
  t.match(await userAfter('plain', name), { email, emailVerifiedAt: clock.now() }, 'a verified address is stored');
});

t.test('email_verified applies only to `email`, not to another claim', async (t) => {
  const { name } = newPerson({ email_verified: true, preferred_username: 'someone-else@example.com' });
  t.match(await userAfter('nested', name), { email: null, emailVerifiedAt: null });
});

t.test('an unverified address neither blocks nor takes over the account of its owner', async (t) => {
  const victim = await createUser(app);
  for (const spelling of [victim.email, victim.email.toUpperCase()]) {
    const { name } = newPerson({ email: spelling });
    const user = await userAfter('plain', name);
    t.not(user.id, victim.id);
    t.equal(user.email, null, 'an account without an address instead of INVALID_PROVIDER');
  }
  const verified = newPerson({ email: victim.email, email_verified: true });
  refusedLogin(t, await logIn('plain', verified.name), 'INVALID_PROVIDER', 'a verified address of another user');
});

t.test('SYNC_USER_INFO does not change the address if the new one is not verified', async (t) => {
  const { name, email, change } = newPerson({ email_verified: true });
  await userAfter('synced', name);
  for (const email_verified of notTrue) {
    change({ email: `moved-${email}`, email_verified, given_name: 'Augusta' });
    t.match(await userAfter('synced', name), { email, firstName: 'Augusta' }, JSON.stringify(email_verified) ?? 'none');
  }
  clock.advance(minute);
  change({ email: `moved-${email}`, email_verified: true });
  t.match(await userAfter('synced', name), { email: `moved-${email}`, emailVerifiedAt: clock.now() });
});

t.test('an address change by SYNC_USER_INFO cancels a pending change that the user requested', async (t) => {
  const { name, email, change } = newPerson({ email_verified: true });
  const { id } = await userAfter('synced', name);
  const session = await openSession(app, id);
  const pendingOf = async (headers: Record<string, string>) =>
    (await testApp.get('/users/me/profile', headers)).json().data.pending_email;
  const requested = `requested-${email}`;
  t.equal((await testApp.post('/users/me/email', { email: requested }, session)).statusCode, 204);
  await userAfter('synced', name);
  t.equal(await pendingOf(session), requested, 'a login that changes nothing keeps it');
  const token = await tokenFor(app, requested);
  change({ email: `moved-${email}`, email_verified: true });
  await userAfter('synced', name);
  t.equal(await pendingOf(await openSession(app, id)), null);
  refused(t, await testApp.post('/users/me/email/confirm', { token }), 'FORBIDDEN', 'the link no longer works');
});

t.test('a stored address is marked as verified as soon as the provider verifies it', async (t) => {
  const { name, email, change } = newPerson({ email_verified: true });
  const { id } = await userAfter('plain', name);
  await changeUser(app, id, { emailVerifiedAt: null });
  change({ email_verified: false });
  t.equal((await userAfter('plain', name)).emailVerifiedAt, null);
  change({ email: `other-${email}`, email_verified: true });
  t.equal((await userAfter('plain', name)).emailVerifiedAt, null, 'another address');
  clock.advance(minute);
  change({ email: email.toUpperCase(), email_verified: true });
  t.match(await userAfter('plain', name), { email, emailVerifiedAt: clock.now() });
  const first = clock.now();
  clock.advance(minute);
  t.match(await userAfter('plain', name), { emailVerifiedAt: first }, 'a later login does not change the time');
});

t.test('with TRUST_EMAIL, any address from the provider is treated as verified', async (t) => {
  for (const email_verified of [undefined, false, 'TRUE']) {
    const { name, email, change } = newPerson({ email_verified });
    t.match(await userAfter('trusted', name), { email, emailVerifiedAt: clock.now() });
    change({ email: `moved-${email}` });
    t.match(await userAfter('trusted', name), { email: `moved-${email}` });
  }
  const victim = await createUser(app);
  refusedLogin(t, await logIn('trusted', newPerson({ email: victim.email }).name), 'INVALID_PROVIDER', 'in use');
});

t.test('REQUIRE_VERIFIED_EMAIL rejects every login without a verified address, even with TRUST_EMAIL', async (t) => {
  for (const email_verified of notTrue) {
    const { name } = newPerson({ email_verified });
    refusedLogin(t, await logIn('strict', name), 'INVALID_CREDENTIALS', JSON.stringify(email_verified) ?? 'none');
    t.equal(await userBehind(app, 'strict', name), undefined);
  }
  const { name, email, change } = newPerson({ email_verified: true });
  t.match(await userAfter('strict', name), { email });
  for (const email_verified of notTrue) {
    change({ email_verified });
    refusedLogin(t, await logIn('strict', name), 'INVALID_CREDENTIALS', 'an existing user');
  }
  change({ email_verified: true, email: undefined });
  refusedLogin(t, await logIn('strict', name), 'INVALID_CREDENTIALS', 'no address');
});

t.test('addresses from an oauth2 provider are trusted unless TRUST_EMAIL is false', async (t) => {
  const profileOf = (id: number) => ({ id, name: 'Mona', email: `mona-${id}@example.com` });
  server.profile = profileOf(1);
  t.equal((await logInByOauth('oauth')).statusCode, 200);
  t.match((await userBehind(app, 'oauth', '1'))?.user, { email: 'mona-1@example.com', emailVerifiedAt: clock.now() });
  server.profile = profileOf(2);
  t.equal((await logInByOauth('oauth-distrusted')).statusCode, 200);
  t.match((await userBehind(app, 'oauth-distrusted', '2'))?.user, { email: null, emailVerifiedAt: null });
  server.profile = { ...profileOf(3), email_verified: true };
  t.equal((await logInByOauth('oauth-distrusted')).statusCode, 200);
  t.match((await userBehind(app, 'oauth-distrusted', '3'))?.user, { email: 'mona-3@example.com' });
  server.profile = profileOf(4);
  refusedLogin(t, await logInByOauth('oauth-strict'), 'INVALID_CREDENTIALS', 'not marked as verified');
});

t.test(
  'an address from a provider follows the rule of all addresses, and the log says why one is refused',
  async (t) => {
    const max = newPerson({ email: 'Max@MÜLLER.example', email_verified: true });
    t.match(await userAfter('plain', max.name), { email: 'Max@xn--mller-kva.example' });
    const reasons = () => lines.filter(({ msg }) => msg === 'login through a provider: the email address is refused');
    t.strictSame(reasons(), []);
    for (const email of ['foo..bar@docomo.example', 'müller@example.com', '"quoted"@example.com', 'a@b@example.com']) {
      lines.length = 0;
      const { name } = newPerson({ email, email_verified: true });
      t.match(await userAfter('plain', name), { email: null }, email);
      t.match(reasons(), [{ provider: 'plain', reason: /before the @/ }], email);
    }
  },
);
