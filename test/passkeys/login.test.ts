import { eq, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { passkeys, sessions, spentStates } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';
import { userPassword } from '../helpers/users/credentials.js';
import { addPasskeyTo, assertion, creationOptions, requestOptions, signIn } from '../helpers/users/passkeys.js';
import { assertUnchanged, createPolicy } from '../helpers/users/rights.js';
import { claimsOf, modes, openSession, readMe, refresh, sessionOf } from '../helpers/users/sessions.js';
import { codeOfStep } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { changeUser, createUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, get, post } = service;

type Response = Awaited<ReturnType<typeof signIn>>;
const isRefused = (t: Test, response: Response, what: string) => refused(t, response, 'INVALID_CREDENTIALS', what);
const stored = async (id: string) => (await app.db.select().from(passkeys).where(eq(passkeys.id, id)))[0];

t.test('a passkey signs the user in, in every mode and with every algorithm', async (t) => {
  for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
    for (const mode of modes) {
      const { id } = await createUser(app, { password: null });
      const passkey = await addPasskeyTo(service, id, { algorithm });
      const response = await signIn(service, passkey, {}, { mode });
      const session = sessionOf(mode, response);
      t.equal((await readMe(service, session)).json().data.id, id, `${algorithm}, ${mode}`);
      t.match(await recorded(app, response.headers['x-request-id']), [
        { action: 'login', user: id, outcome: 'success' },
      ]);
      t.ok((await stored(passkey.id))?.lastUsedAt);
    }
  }
});

t.test('the options contain a new challenge each time, and no list of credentials', async (t) => {
  const { challenge, ...rest } = await requestOptions(service);
  t.strictSame(rest, { timeout: 300_000, rpId: 'localhost', userVerification: 'preferred' });
  t.not(challenge, (await requestOptions(service)).challenge);
  t.ok(Buffer.from(challenge, 'base64url').length >= 32);
  refused(t, await post('/auth/passkey/options', { email: 'a@example.com' }), 'INVALID_PAYLOAD', 'a body');
});

t.test('a challenge can be used once, within five minutes', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id);
  const credential = await assertion(service, passkey);
  t.equal((await post('/auth/passkey', { credential })).statusCode, 200);
  isRefused(t, await post('/auth/passkey', { credential }), 'a challenge that was used');
  const options = await requestOptions(service);
  clock.advance(4.9 * minute);
  t.equal((await post('/auth/passkey', { credential: passkey.get(options) })).statusCode, 200, 'almost five minutes');
  const late = await requestOptions(service);
  clock.advance(5 * minute);
  isRefused(t, await post('/auth/passkey', { credential: passkey.get(late) }), 'five minutes');
});

t.test('of twenty concurrent uses of a challenge, one succeeds', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id, { counts: true });
  const options = await requestOptions(service);
  const credentials = Array.from({ length: 20 }, () => passkey.get(options));
  await app.db.delete(sessions).where(eq(sessions.user, id));
  const responses = await Promise.all(credentials.map((credential) => post('/auth/passkey', { credential })));
  const statuses = responses.map(({ statusCode }) => statusCode).sort();
  t.strictSame(statuses, [200, ...Array(19).fill(401)]);
  t.equal((await app.db.select().from(sessions).where(eq(sessions.user, id))).length, 1);
});

t.test('of ten concurrent uses of a copied passkey, with a challenge each, one succeeds', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id, { synchronizes: false });
  const credentials = await Promise.all(Array.from({ length: 10 }, () => assertion(service, passkey, { counter: 1 })));
  const responses = await Promise.all(credentials.map((credential) => post('/auth/passkey', { credential })));
  t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [200, ...Array(9).fill(401)]);
});

t.test('a counter that does not increase is refused, and so is one that starts again at zero', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id, { synchronizes: false });
  t.equal((await signIn(service, passkey, { counter: 5 })).statusCode, 200);
  await assertUnchanged(t, app, 'an old counter', async () => {
    for (const counter of [5, 4, 0]) isRefused(t, await signIn(service, passkey, { counter }), `counter ${counter}`);
  });
  t.equal((await signIn(service, passkey, { counter: 6 })).statusCode, 200);
  t.equal((await stored(passkey.id))?.counter, 6);
  const zero = await addPasskeyTo(service, id);
  for (const use of ['first', 'second'])
    t.equal((await signIn(service, zero)).statusCode, 200, `${use}, without a counter`);
});

t.test('a passkey that verifies its user needs no code, and any other does', async (t) => {
  const { id } = await createUser(app, { tfa: true });
  const verified = await addPasskeyTo(service, id);
  t.equal((await signIn(service, verified)).statusCode, 200, 'verified');

  const present = await addPasskeyTo(service, id, { verifies: false });
  const credential = await assertion(service, present);
  const code = codeOfStep(nextStep(service));
  const fresh = await assertion(service, present);
  refused(t, await post('/auth/passkey', { credential: fresh }), 'INVALID_OTP', 'no code');
  refused(t, await post('/auth/passkey', { credential: fresh, otp: '000000' }), 'INVALID_OTP', 'a wrong code');
  t.equal((await post('/auth/passkey', { credential: fresh, otp: code })).statusCode, 200, 'the same credential');
  const next = codeOfStep(nextStep(service));
  isRefused(t, await post('/auth/passkey', { credential: fresh, otp: next }), 'a challenge that was used');
  refused(t, await post('/auth/passkey', { credential, otp: code }), 'INVALID_OTP', 'a code that was used');
});

t.test('a session that began with a verified passkey satisfies enforce_tfa, and any other does not', async (t) => {
  const policy = await createPolicy(app, { enforceTfa: true, appAccess: true });
  const { id, email, password } = await createUser(app, { policies: [policy] });
  const mayWork = async (headers: Record<string, string>) =>
    (await get('/users/me/sessions', headers)).statusCode === 200;
  const passwordSession = sessionOf('json', await post('/auth/login', { email, password }));
  t.notOk(await mayWork(passwordSession.headers), 'a password');
  t.equal(claimsOf(passwordSession.accessToken).enforce_tfa, true);

  const verified = await addPasskeyTo(service, id);
  t.notOk(await mayWork(passwordSession.headers), 'a passkey that was added in another session');
  for (const mode of modes) {
    const session = sessionOf(mode, await signIn(service, verified, {}, { mode }));
    t.ok(await mayWork(session.headers), mode);
    t.equal(claimsOf(session.accessToken).enforce_tfa, undefined, mode);
    const next = sessionOf(mode, await refresh(service, session));
    t.ok(await mayWork(next.headers), `${mode}, refreshed`);
    t.equal(claimsOf(next.accessToken).enforce_tfa, undefined, `${mode}, refreshed`);
  }
  const weak = sessionOf('json', await signIn(service, verified, { userVerified: false }));
  t.notOk(await mayWork(weak.headers), 'a passkey without verification');
  t.equal(claimsOf(weak.accessToken).enforce_tfa, true);
  t.notOk(await mayWork(sessionOf('json', await refresh(service, weak)).headers), 'and after a refresh');
});

t.test('a user who must set up a second factor can add a passkey instead', async (t) => {
  const policy = await createPolicy(app, { enforceTfa: true });
  const { id, email } = await createUser(app);
  await app.db.execute(sql`insert into user_policies ("user", policy) values (${id}::uuid, ${policy}::uuid)`);
  const headers = bearer((await post('/auth/login', { email, password: userPassword })).json().data.access_token);
  refused(t, await get('/users/me/sessions', headers), 'FORBIDDEN', 'before');
  const authenticator = createAuthenticator();
  const credential = authenticator.create(await creationOptions(service, headers));
  t.equal((await post('/users/me/passkeys', { credential }, headers)).statusCode, 200);
  t.equal((await get('/users/me/sessions', headers)).statusCode, 200, 'in the same session');
  const session = sessionOf('json', await signIn(service, authenticator));
  t.equal((await get('/users/me/sessions', session.headers)).statusCode, 200, 'after');
});

t.test('only active users can sign in, and the response says nothing about the reason', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id);
  const unknown = createAuthenticator();
  unknown.create({ challenge: '', user: { id: Buffer.alloc(16).toString('base64url') } });
  const bodies = [(await signIn(service, unknown)).body];
  for (const status of ['suspended', 'archived', 'draft', 'invited', 'unverified']) {
    await changeUser(app, id, { status });
    const response = await signIn(service, passkey);
    isRefused(t, response, status);
    bodies.push(response.body);
    t.match(await recorded(app, response.headers['x-request-id']), [{ action: 'login', item: id, reason: status }]);
  }
  t.equal(new Set(bodies).size, 1);
  await changeUser(app, id, { status: 'active' });
  t.equal((await signIn(service, passkey)).statusCode, 200);
});

t.test('wrong passkeys count for the client address, and lock no account', async (t) => {
  const limited = await startTestApp(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '100000' });
  const user = await createUser(limited.app);
  const passkey = await addPasskeyTo(limited, user.id);
  const wrong = await assertion(limited, passkey, { rpId: 'evil.example' });
  const attempts = Array.from({ length: 301 }, () => limited.post('/auth/passkey', { credential: wrong }));
  const refusals = (await Promise.all(attempts)).map(codeOf).sort();
  t.strictSame(refusals, [...Array(300).fill('INVALID_CREDENTIALS'), 'REQUESTS_EXCEEDED']);
  t.equal((await signIn(limited, passkey)).statusCode, 200, 'the right passkey still works');
});

t.test('a page of another site cannot sign a browser in', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id);
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  for (const mode of ['cookie', 'session']) {
    const credential = await assertion(service, passkey);
    refused(t, await post('/auth/passkey', { credential, mode }, headers), 'FORBIDDEN', mode);
  }
});

t.test('challenges that were used are stored until they expire, as hashes', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id);
  await app.db.delete(spentStates);
  const options = await requestOptions(service);
  t.equal((await post('/auth/passkey', { credential: passkey.get(options) })).statusCode, 200);
  const [spent, ...more] = await app.db.select().from(spentStates);
  t.strictSame(more, []);
  const left = (spent?.expiresAt.getTime() ?? 0) - clock.now().getTime();
  t.ok(left > 4 * minute && left <= 5 * minute, `${left} ms`);
  t.match(spent?.id, /^[0-9a-f]{64}$/);
});

t.test('with AUTH_PASSKEYS=false, none of the operations exist', async (t) => {
  const off = await startTestApp(t, { AUTH_PASSKEYS: 'false' });
  const { id } = await createUser(off.app);
  const headers = await openSession(off.app, id);
  for (const [method, url] of [
    ['POST', '/auth/passkey/options'],
    ['POST', '/auth/passkey'],
    ['POST', '/auth/passkey/check'],
    ['POST', '/users/me/passkeys/options'],
    ['POST', '/users/me/passkeys'],
    ['GET', '/users/me/passkeys'],
    ['PATCH', `/users/me/passkeys/${id}`],
    ['DELETE', `/users/me/passkeys/${id}`],
    ['GET', `/users/${id}/passkeys`],
    ['DELETE', `/users/${id}/passkeys/${id}`],
    ['GET', '/.well-known/webauthn'],
  ] as const) {
    refused(t, await off.request({ method, url, headers }), 'ROUTE_NOT_FOUND', `${method} ${url}`);
  }
  const credential = createAuthenticator().get({ challenge: '' }, { userHandle: '' });
  refused(
    t,
    await off.post('/auth/reauthenticate', { credential }, headers),
    'INVALID_PAYLOAD',
    'confirming an identity',
  );
});

t.test('the origins and the domain are configured', async (t) => {
  refused(t, await get('/.well-known/webauthn'), 'ROUTE_NOT_FOUND', 'without further origins');
  const far = await startTestApp(t, {
    PUBLIC_URL: 'https://accounts.example.com/auth',
    WEBAUTHN_RP_ID: 'example.com',
    WEBAUTHN_ORIGINS: `https://app.example.com,https://example.org,android:apk-key-hash:${'a'.repeat(43)}`,
  });
  t.strictSame((await far.get('/.well-known/webauthn')).json(), {
    origins: ['https://accounts.example.com', 'https://app.example.com', 'https://example.org'],
  });
  const { id } = await createUser(far.app);
  for (const origin of [
    ...['https://accounts.example.com', 'https://app.example.com', 'https://example.org'],
    `android:apk-key-hash:${'a'.repeat(43)}`,
  ]) {
    const passkey = await addPasskeyTo(far, id, { origin, rpId: 'example.com' });
    t.equal((await signIn(far, passkey)).statusCode, 200, origin);
    for (const other of ['https://evil.example.com', 'http://app.example.com', 'https://app.example.com:8443']) {
      isRefused(t, await signIn(far, passkey, { clientData: { origin: other } }), other);
    }
  }
  const near = await startTestApp(t, {
    PUBLIC_URL: 'https://accounts.example.com',
    WEBAUTHN_RP_ID: 'example.com',
    WEBAUTHN_ORIGINS: 'https://app.example.com',
  });
  refused(t, await near.get('/.well-known/webauthn'), 'ROUTE_NOT_FOUND', 'all origins are in the domain');
});

t.test('a passkey that has become synchronized is accepted if the authenticator verified the user', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id, { synchronizes: false });
  const now = { backupEligible: true, backedUp: true };
  await assertUnchanged(t, app, 'without verification', async () =>
    isRefused(t, await signIn(service, passkey, { ...now, userVerified: false }), 'without verification'),
  );
  const response = await signIn(service, passkey, now);
  t.equal(response.statusCode, 200);
  t.match(await stored(passkey.id), { isBackupEligible: true, isBackedUp: true });
  const events = await recorded(app, response.headers['x-request-id']);
  const event = { action: 'update', user: id, collection: 'passkeys', item: passkey.id, changed: ['backup_eligible'] };
  t.match(
    events.toSorted((one, other) => one.action.localeCompare(other.action)),
    [{ action: 'login' }, event],
  );

  const next = await signIn(service, passkey, { ...now, userVerified: false });
  t.equal(next.statusCode, 200, 'later without verification');
  t.equal((await recorded(app, next.headers['x-request-id'])).length, 1, 'recorded once');
  isRefused(t, await signIn(service, passkey, { backupEligible: false, backedUp: false }), 'never the reverse');

  const other = await addPasskeyTo(service, id, { synchronizes: false });
  const headers = await openSession(app, id);
  const credential = await assertion(service, other, now);
  t.equal((await post('/auth/reauthenticate', { credential }, headers)).statusCode, 204, 'a step-up');
  t.match(await stored(other.id), { isBackupEligible: true });
});

t.test('the user handle is compared as bytes', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id);
  const handle = Buffer.from(id.replaceAll('-', ''), 'hex');
  for (const userHandle of [
    handle.toString('base64url'),
    `${handle.toString('base64url')}==`,
    handle.toString('base64'),
  ]) {
    t.equal((await signIn(service, passkey, { userHandle })).statusCode, 200, userHandle);
  }
  for (const userHandle of [handle.subarray(1), Buffer.concat([handle, Buffer.alloc(1)])]) {
    isRefused(t, await signIn(service, passkey, { userHandle: userHandle.toString('base64url') }), 'other bytes');
  }
});

t.test('a client can ask whether a passkey exists', async (t) => {
  const { id } = await createUser(app);
  const passkey = await addPasskeyTo(service, id);
  const known = async (credentialId: string) =>
    (await post('/auth/passkey/check', { id: credentialId })).json().data.known;
  t.equal(await known(passkey.credentialId), true);
  await app.db.delete(passkeys).where(eq(passkeys.id, passkey.id));
  t.equal(await known(passkey.credentialId), false, 'removed');
  t.equal(await known('AAAA'), false, 'never known');
  for (const body of [{}, { id: '' }, { id: 7 }, { id: '<>' }, { id: 'A'.repeat(1365) }, { id: 'AAAA', user: id }]) {
    refused(t, await post('/auth/passkey/check', body), 'INVALID_PAYLOAD', JSON.stringify(body).slice(0, 60));
  }
});
