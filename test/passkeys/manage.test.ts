import { eq } from 'drizzle-orm';
import t from 'tap';
import { identities, passkeys, settings } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { mailsTo } from '../helpers/mail/mails.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';
import { addPasskey, addPasskeyTo, assertion, creationOptions, signIn } from '../helpers/users/passkeys.js';
import { assertUnchanged, createPolicy } from '../helpers/users/rights.js';
import { makeStale, openSession } from '../helpers/users/sessions.js';
import { rfcSecret } from '../helpers/users/totp.js';
import { changeUser, createUser, createUserWithToken, type NewUser } from '../helpers/users/users.js';

const service = await startTestApp(t, {
  ADMIN_TOKEN: adminToken,
  AUTH_PROVIDERS: 'alpha',
  AUTH_ALPHA_DRIVER: 'oauth2',
  AUTH_ALPHA_CLIENT_ID: 'id',
  AUTH_ALPHA_CLIENT_SECRET: 'secret',
  AUTH_ALPHA_AUTHORIZE_URL: 'https://alpha.example.com/authorize',
  AUTH_ALPHA_ACCESS_URL: 'https://alpha.example.com/token',
  AUTH_ALPHA_PROFILE_URL: 'https://alpha.example.com/profile',
});
const { app, clock, get, post, request } = service;

type Headers = Record<string, string>;
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const list = async (headers: Headers) => (await get('/users/me/passkeys', headers)).json().data;
const rename = (headers: Headers, id: string, payload: object) =>
  request({ method: 'PATCH', url: `/users/me/passkeys/${id}`, payload, headers });
const remove = (headers: Headers, id: string) =>
  request({ method: 'DELETE', url: `/users/me/passkeys/${id}`, headers });
const removeOf = (user: string, id: string, headers: Headers = asAdmin) =>
  request({ method: 'DELETE', url: `/users/${user}/passkeys/${id}`, headers });

async function signedIn(columns: NewUser = {}) {
  const user = await createUser(app, columns);
  return { ...user, headers: await openSession(app, user.id) };
}

t.test('users add passkeys, list them, and rename them', async (t) => {
  const { id, email, headers } = await signedIn({ firstName: 'Ada', lastName: 'Lovelace' });
  const { challenge, ...options } = await creationOptions(service, headers);
  t.strictSame(options, {
    rp: { id: 'localhost', name: 'Gatehouse' },
    user: {
      id: Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url'),
      name: email,
      displayName: 'Ada Lovelace',
    },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
    timeout: 300_000,
    excludeCredentials: [],
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'preferred' },
    attestation: 'none',
  });
  const authenticator = createAuthenticator();
  const credential = authenticator.create({ challenge, user: options.user });
  const added = await post('/users/me/passkeys', { credential }, { ...headers, 'user-agent': firefox });
  const { data } = added.json();
  const passkey = {
    id: data.id,
    name: 'Firefox, Linux',
    created_at: data.created_at,
    last_used_at: null,
    backed_up: true,
    transports: ['internal', 'hybrid'],
    aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd',
  };
  t.strictSame(data, passkey);
  t.ok(clock.now().getTime() - Date.parse(data.created_at) < minute);
  t.match(await recorded(app, added.headers['x-request-id']), [
    { action: 'passkey_add', user: id, collection: 'passkeys', item: data.id },
  ]);
  t.strictSame((await creationOptions(service, headers)).excludeCredentials, [
    { type: 'public-key', id: authenticator.credentialId, transports: ['internal', 'hybrid'] },
  ]);

  const key = await addPasskey(service, headers, { synchronizes: false }, ' YubiKey ');
  t.match(await list(headers), [passkey, { id: key.id, name: 'YubiKey', backed_up: false }]);
  const renamed = await rename(headers, data.id, { name: 'Work' });
  t.strictSame(renamed.json().data, { ...passkey, name: 'Work' });
  t.match(await recorded(app, renamed.headers['x-request-id']), [
    { action: 'update', collection: 'passkeys', item: data.id, changed: ['name'] },
  ]);
  t.equal((await get('/users/me/profile', headers)).json().data.passkeys, 2);
  const exported = (await get('/users/me/export', headers)).json().data;
  t.strictSame(exported.passkeys, await list(headers));
  t.notMatch(JSON.stringify(exported), authenticator.credentialId);
  const [stored] = await app.db.select().from(passkeys).where(eq(passkeys.id, data.id));
  t.notOk(JSON.stringify(exported).includes(stored?.publicKey ?? ''));
});

t.test('names and IDs are checked', async (t) => {
  const { headers } = await signedIn();
  const { id } = await addPasskey(service, headers);
  const other = await signedIn();
  for (const name of ['', ' ', 'x'.repeat(101), 7, null]) {
    refused(t, await rename(headers, id, { name }), 'INVALID_PAYLOAD', JSON.stringify(name));
    const credential = createAuthenticator().create(await creationOptions(service, headers));
    refused(t, await post('/users/me/passkeys', { credential, name }, headers), 'INVALID_PAYLOAD', 'a new one');
  }
  refused(t, await rename(headers, id, { name: 'x', counter: 1 }), 'INVALID_PAYLOAD', 'another key');
  await assertUnchanged(t, app, 'the passkeys of others', async () => {
    for (const unknown of [id, other.id, 'no-id']) {
      refused(t, await rename(other.headers, unknown, { name: 'Mine' }), 'FORBIDDEN', 'rename');
      refused(t, await remove(other.headers, unknown), 'FORBIDDEN', 'remove');
    }
  });
  t.equal((await rename(headers, id.toUpperCase(), { name: 'x'.repeat(100) })).statusCode, 200);
});

t.test('a user can have 25 passkeys', async (t) => {
  const { headers } = await signedIn();
  for (let n = 0; n < 24; n++) await addPasskey(service, headers);
  const options = await Promise.all([1, 2, 3].map(() => creationOptions(service, headers)));
  const credentials = options.map((one) => createAuthenticator().create(one));
  const responses = await Promise.all(
    credentials.map((credential) => post('/users/me/passkeys', { credential }, headers)),
  );
  t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [200, 400, 400], 'concurrently');
  refused(t, await post('/users/me/passkeys/options', {}, headers), 'INVALID_PAYLOAD', 'the options');
  t.equal((await list(headers)).length, 25);
});

t.test('removing a passkey ends the other sessions and the passkey', async (t) => {
  const { id, email, headers } = await signedIn();
  const passkey = await addPasskey(service, headers);
  const other = await openSession(app, id);
  const response = await remove(headers, passkey.id);
  t.equal(response.statusCode, 204);
  t.match(await recorded(app, response.headers['x-request-id']), [
    { action: 'passkey_remove', user: id, collection: 'passkeys', item: passkey.id },
  ]);
  t.equal((await get('/users/me', headers)).statusCode, 200);
  refused(t, await get('/users/me', other), 'INVALID_CREDENTIALS', 'another session');
  refused(t, await signIn(service, passkey), 'INVALID_CREDENTIALS', 'the passkey');
  refused(t, await remove(headers, passkey.id), 'FORBIDDEN', 'a second time');
  // The service sends waiting emails at the same time.
  t.strictSame((await mailsTo(app, email)).map(({ subject }) => subject).sort(), [
    'A passkey was added to your Gatehouse account',
    'A passkey was removed from your Gatehouse account',
  ]);
});

t.test('the only way to sign in cannot be removed', async (t) => {
  const link = (user: string, provider: string) =>
    app.db.insert(identities).values({ user, provider, identifier: user, createdAt: clock.now() });
  const ways: [what: string, columns: NewUser, provider?: string][] = [
    ['no password', { password: null }],
    ['a password, but no address', { email: null as never }],
    ['a provider that is not configured', { password: null }, 'omega'],
  ];
  for (const [what, columns, provider] of ways) {
    const { id, headers } = await signedIn(columns);
    if (columns && 'email' in columns) await changeUser(app, id, { email: null });
    if (provider) await link(id, provider);
    const passkey = await addPasskey(service, headers);
    await assertUnchanged(t, app, what, async () => {
      refused(t, await remove(headers, passkey.id), 'UNPROCESSABLE_CONTENT', what);
      refused(t, await removeOf(id, passkey.id), 'UNPROCESSABLE_CONTENT', `${what}, by an administrator`);
    });
    await addPasskey(service, headers);
    t.equal((await remove(headers, passkey.id)).statusCode, 204, `${what}, with another passkey`);
  }
  const linked = await signedIn({ password: null });
  await link(linked.id, 'alpha');
  const { id: only } = await addPasskey(service, linked.headers);
  t.equal((await remove(linked.headers, only)).statusCode, 204, 'with a provider');
  const passwordOff = await startTestApp(t, { AUTH_DISABLE_DEFAULT: 'true' });
  const user = await createUser(passwordOff.app);
  const headers = await openSession(passwordOff.app, user.id);
  const { id } = await addPasskey(passwordOff, headers);
  const response = await passwordOff.request({ method: 'DELETE', url: `/users/me/passkeys/${id}`, headers });
  refused(t, response, 'UNPROCESSABLE_CONTENT', 'a password that cannot be used');
});

t.test(
  'to remove a lost passkey that is the only way to sign in, an administrator first sets a password',
  async (t) => {
    const { id, email, headers } = await signedIn({ password: null });
    const passkey = await addPasskey(service, headers);
    const response = await removeOf(id, passkey.id);
    refused(t, response, 'UNPROCESSABLE_CONTENT', 'the only way');
    t.match(response.json().errors[0].extensions.reason, 'Set a password for the user first.');
    const password = 'a password that the administrator sets';
    t.equal(
      (await request({ method: 'PATCH', url: `/users/${id}`, payload: { password }, headers: asAdmin })).statusCode,
      200,
    );
    t.equal((await removeOf(id, passkey.id)).statusCode, 204);
    refused(t, await signIn(service, passkey), 'INVALID_CREDENTIALS', 'the lost passkey');
    t.equal((await post('/auth/login', { email, password })).statusCode, 200);
  },
);

t.test('a user with a passkey can unlink the last provider account', async (t) => {
  const { id, headers } = await signedIn({ password: null, provider: 'alpha', externalIdentifier: 'mona' });
  const row = { user: id, provider: 'alpha', identifier: 'mona', isPrimary: true, createdAt: clock.now() };
  const [identity] = await app.db.insert(identities).values(row).returning({ id: identities.id });
  const unlink = () => request({ method: 'DELETE', url: `/users/me/identities/${identity?.id}`, headers });
  refused(t, await unlink(), 'UNPROCESSABLE_CONTENT', 'the only way to sign in');
  const passkey = await addPasskey(service, headers);
  t.equal((await unlink()).statusCode, 204);
  t.equal((await signIn(service, passkey)).statusCode, 200);
});

t.test('administrators list and remove the passkeys of a user', async (t) => {
  const { id, email, headers } = await signedIn();
  const passkey = await addPasskey(service, headers);
  t.strictSame((await get(`/users/${id}/passkeys`, asAdmin)).json().data, await list(headers));
  refused(t, await get(`/users/${passkey.id}/passkeys`, asAdmin), 'FORBIDDEN', 'no such user');
  refused(t, await get(`/users/${id}/passkeys`, headers), 'FORBIDDEN', 'a user, about themselves');
  refused(t, await removeOf(id, passkey.id, headers), 'FORBIDDEN', 'a user');
  refused(t, await removeOf(id, id), 'FORBIDDEN', 'no such passkey');
  const response = await removeOf(id, passkey.id);
  t.equal(response.statusCode, 204);
  t.match(await recorded(app, response.headers['x-request-id']), [{ action: 'passkey_remove', item: passkey.id }]);
  refused(t, await get('/users/me', headers), 'INVALID_CREDENTIALS', 'the session of the user');
  const notice = (await mailsTo(app, email)).find(({ text }) => text.includes('By: an administrator of Gatehouse'));
  t.equal(notice?.subject, 'A passkey was removed from your Gatehouse account');
});

t.test('removing the passkey of an administrator requires a fresh session', async (t) => {
  const administration = await createPolicy(app, { adminAccess: true });
  const [ada, bob] = [
    await createUser(app, { policies: [administration] }),
    await createUserWithToken(app, { policies: [administration] }),
  ];
  const [first, second, own] = [
    await addPasskeyTo(service, ada.id),
    await addPasskeyTo(service, ada.id),
    await addPasskeyTo(service, bob.id),
  ];
  const session = await openSession(app, bob.id);
  const fresh = await openSession(app, bob.id);
  await makeStale(app, bob.id);
  refused(t, await removeOf(ada.id, first.id, session), 'REAUTHENTICATION_REQUIRED', 'a stale session');
  refused(t, await removeOf(bob.id, own.id, session), 'REAUTHENTICATION_REQUIRED', 'their own, in a stale session');
  refused(t, await removeOf(bob.id, own.id, bob.headers), 'FORBIDDEN', 'their own, with a static token');
  t.equal((await removeOf(ada.id, first.id, bob.headers)).statusCode, 204, 'a program');
  t.equal((await post('/auth/reauthenticate', { password: bob.password }, fresh)).statusCode, 204);
  t.equal((await removeOf(ada.id, second.id, fresh)).statusCode, 204, 'a fresh session');
  t.equal((await removeOf(bob.id.toUpperCase(), own.id, fresh)).statusCode, 204, 'their own');
  t.equal((await get('/users/me', fresh)).statusCode, 200, 'which keeps the session');
});

t.test('static tokens can manage no passkeys, and self_service switches this off', async (t) => {
  const holder = await createUserWithToken(app);
  const { id } = await addPasskeyTo(service, holder.id);
  const attempts = (headers: Headers) => [
    () => get('/users/me/passkeys', headers),
    () => post('/users/me/passkeys/options', {}, headers),
    () => rename(headers, id, { name: 'x' }),
    () => remove(headers, id),
  ];
  for (const send of attempts(holder.headers)) refused(t, await send(), 'FORBIDDEN', 'a static token');
  const session = await openSession(app, holder.id);
  await app.db.update(settings).set({ selfService: false });
  for (const send of attempts(session)) refused(t, await send(), 'FORBIDDEN', 'self_service is off');
  const administrator = await createUser(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  t.equal((await get('/users/me/passkeys', await openSession(app, administrator.id))).statusCode, 200);
  await app.db.update(settings).set({ selfService: true });
});

t.test('a passkey makes a session fresh', async (t) => {
  const { id, headers } = await signedIn({ password: null });
  const passkey = await addPasskey(service, headers);
  const other = await addPasskeyTo(service, (await signedIn()).id);
  await makeStale(app, id);
  const prove = (payload: object) => post('/auth/reauthenticate', payload, headers);
  const required = await post('/users/me/passkeys/options', {}, headers);
  refused(t, required, 'REAUTHENTICATION_REQUIRED', 'a stale session');
  t.strictSame(required.json().errors[0].extensions.methods, ['passkey'], 'no email for a user with a passkey');
  t.equal((await post('/auth/email/request', {}, headers)).statusCode, 204);
  refused(t, await prove({ credential: await assertion(service, other) }), 'INVALID_CREDENTIALS', 'another user');
  const wrong = await assertion(service, passkey, { clientData: { origin: 'https://evil.example' } });
  refused(t, await prove({ credential: wrong }), 'INVALID_CREDENTIALS', 'another origin');
  const credential = await assertion(service, passkey);
  const proved = await prove({ credential });
  t.equal(proved.statusCode, 204);
  t.match(await recorded(app, proved.headers['x-request-id']), [{ action: 'reauthenticate', user: id }]);
  t.equal((await post('/users/me/passkeys/options', {}, headers)).statusCode, 200, 'fresh');
  refused(t, await prove({ credential }), 'INVALID_CREDENTIALS', 'a challenge that was used');
  refused(t, await post('/auth/passkey', { credential }), 'INVALID_CREDENTIALS', 'nor can it sign in');
  refused(t, await prove({}), 'INVALID_PAYLOAD', 'nothing');
});

t.test('wrong passkeys count as failed logins of the account', async (t) => {
  await app.db.update(settings).set({ authLoginAttempts: 3 });
  const { headers } = await signedIn();
  const passkey = await addPasskey(service, headers);
  const prove = async (rpId: string) =>
    codeOf(await post('/auth/reauthenticate', { credential: await assertion(service, passkey, { rpId }) }, headers));
  for (let n = 0; n < 3; n++) t.equal(await prove('evil.example'), 'INVALID_CREDENTIALS');
  t.equal(await prove('evil.example'), 'REQUESTS_EXCEEDED');
  await app.db.update(settings).set({ authLoginAttempts: 25 });
});

t.test('a user with two-factor authentication needs a passkey that verifies them, or also a code', async (t) => {
  const { id, headers, password } = await signedIn();
  const verified = await addPasskey(service, headers);
  const present = await addPasskey(service, headers, { verifies: false });
  await changeUser(app, id, { tfaSecret: app.tfaSecrets.seal(rfcSecret.base32, id) });
  await makeStale(app, id);
  const prove = async (payload: object) => post('/auth/reauthenticate', payload, headers);
  t.strictSame((await post('/users/me/passkeys/options', {}, headers)).json().errors[0].extensions.methods, [
    'otp',
    'passkey',
  ]);
  refused(t, await prove({ credential: await assertion(service, present) }), 'INVALID_OTP', 'not verified');
  refused(t, await prove({ credential: await assertion(service, present), password }), 'INVALID_OTP', 'and a password');
  t.equal((await prove({ credential: await assertion(service, verified) })).statusCode, 204, 'verified');
});
