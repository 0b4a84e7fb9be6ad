// @suite not-everyday: tries many cases

import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { identities, users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { codeIn, findCode, mailsTo } from '../helpers/mail/mails.js';
import { startTestApp, type TestApp } from '../helpers/service/app.js';
import { addPasskeyTo, assertion } from '../helpers/users/passkeys.js';
import { everyPermission, policyWith } from '../helpers/users/rights.js';
import { logIn, makeStale } from '../helpers/users/sessions.js';
import { createSignedInUser } from '../helpers/users/users.js';

/** What the configuration changes: ways of signing in that are turned off, managed users, and no period. */

type Headers = Record<string, string>;
const options = (headers: Headers, to: TestApp) => to.post('/users/me/passkeys/options', {}, headers);
const methodsIn = (response: Awaited<ReturnType<typeof options>>) => response.json().errors[0].extensions.methods;

t.test('without a period, a second factor protects itself, too', async (t) => {
  const directus = await startTestApp(t, { REAUTHENTICATION_PERIOD: '0' });
  const elsewhere = await policyWith(directus.app, everyPermission, { enforceTfa: true, ipAccess: ['192.0.2.0/24'] });
  const general = await policyWith(directus.app, everyPermission);
  const user = await createSignedInUser(directus, { policies: [elsewhere, general] });
  await addPasskeyTo(directus, user.id);
  const { headers } = await logIn(directus, 'json', user);
  refused(t, await options(headers, directus), 'REAUTHENTICATION_REQUIRED', 'with the period 0');
  for (const [who, what] of [
    [headers, 'REAUTHENTICATION_REQUIRED'],
    [user.tokenHeaders, 'FORBIDDEN'],
  ] as const) {
    const payload = { email: `${randomUUID()}@example.com` };
    const change = await directus.request({ method: 'PATCH', url: '/users/me', payload, headers: who });
    refused(t, change, what, what);
  }
  const { id } = await createSignedInUser(directus, { policies: [general] });
  const titled = await directus.request({ method: 'PATCH', url: '/users/me', payload: { title: id }, headers });
  t.equal(titled.statusCode, 200, 'other fields');
});

const providers = {
  AUTH_PROVIDERS: 'alpha,managing',
  ...Object.fromEntries(
    ['ALPHA', 'MANAGING'].flatMap((key) =>
      Object.entries({
        DRIVER: 'oauth2',
        CLIENT_ID: 'id',
        CLIENT_SECRET: 'secret',
        AUTHORIZE_URL: 'https://provider.example.com/authorize',
        ACCESS_URL: 'https://provider.example.com/token',
        PROFILE_URL: 'https://provider.example.com/profile',
      }).map(([name, value]) => [`AUTH_${key}_${name}`, value]),
    ),
  ),
  AUTH_MANAGING_ROLE_MAPPING: JSON.stringify({ editors: randomUUID() }),
};

t.test('what cannot sign a user in makes no session fresh', async (t) => {
  const off = await startTestApp(t, { ...providers, AUTH_DISABLE_DEFAULT: 'true', AUTH_PASSKEYS: 'false' });
  const enforced = await policyWith(off.app, everyPermission, { enforceTfa: true, ipAccess: ['192.0.2.0/24'] });
  const general = await policyWith(off.app, everyPermission);
  const link = ({ id }: { id: string }, provider: string) =>
    off.app.db.insert(identities).values({ user: id, provider, identifier: id, createdAt: off.app.clock() });
  const methodsOf = async (headers: Headers) =>
    methodsIn(await off.post('/users/me/password', { password: `a long password ${randomUUID()}` }, headers));

  const owner = await createSignedInUser(off, { policies: [enforced, general] });
  await makeStale(off.app, owner.id);
  t.strictSame(await methodsOf(owner.headers), ['email'], 'a password');
  const prove = (body: object, headers = owner.headers) => off.post('/auth/reauthenticate', body, headers);
  refused(t, await prove({ password: owner.password }), 'INVALID_CREDENTIALS', 'reauthenticate');
  for (const [method, url] of [
    ['POST', '/users/me/password'],
    ['PATCH', '/users/me'],
    ['PATCH', `/users/${owner.id}`],
  ] as const) {
    const payload = { password: `a long password ${randomUUID()}`, current_password: owner.password };
    const response = await off.request({ method, url, payload, headers: owner.headers });
    refused(t, response, 'INVALID_CREDENTIALS', `${method} ${url}`);
  }
  refused(t, await owner.generate({ password: owner.password }), 'REAUTHENTICATION_REQUIRED', 'generate');
  t.equal((await off.post('/auth/email/request', {}, owner.headers)).statusCode, 204);
  const code = codeIn((await mailsTo(off.app, owner.email)).at(-1) ?? { text: '' });
  t.equal((await prove({ code })).statusCode, 204, 'the email code of users who have nothing else');
  t.equal((await owner.generate({})).statusCode, 200, 'generate, without the password');

  const linked = await createSignedInUser(off, { policies: [general], provider: 'alpha', password: null });
  await link(linked, 'alpha');
  await link(linked, 'retired');
  await makeStale(off.app, linked.id);
  t.strictSame(await methodsOf(linked.headers), ['email', 'provider']);

  const managed = await startTestApp(t, providers);
  const rights = await policyWith(managed.app, everyPermission);
  const user = await createSignedInUser(managed, { policies: [rights], provider: 'managing' });
  const add = (provider: string) =>
    managed.app.db
      .insert(identities)
      .values({ user: user.id, provider, identifier: user.id, createdAt: managed.app.clock() });
  await add('alpha');
  await makeStale(managed.app, user.id);
  const ask = () => managed.post('/users/me/tfa/enable', {}, user.headers);
  t.strictSame(methodsIn(await ask()), [], 'a managed user whose account is not linked');
  await add('managing');
  // The passkey is from before the user was managed.
  await managed.app.db.update(users).set({ provider: 'default' }).where(eq(users.id, user.id));
  const passkey = await addPasskeyTo(managed, user.id);
  await managed.app.db.update(users).set({ provider: 'managing' }).where(eq(users.id, user.id));
  await makeStale(managed.app, user.id);
  t.strictSame(methodsIn(await ask()), ['provider'], 'a managed user');
  const signed = { credential: await assertion(managed, passkey) };
  refused(t, await managed.post('/auth/reauthenticate', signed, user.headers), 'INVALID_CREDENTIALS', 'the passkey');
  const weak = await managed.post('/auth/reauthenticate', { password: user.password }, user.headers);
  refused(t, weak, 'INVALID_CREDENTIALS', 'the password of a managed user');
  t.equal((await managed.post('/auth/email/request', {}, user.headers)).statusCode, 204);
  t.notOk((await mailsTo(managed.app, user.email)).some(findCode), 'no code');
});
