import { eq } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { policies } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { startWithAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { codeOf, type TestApp } from '../helpers/service/app.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';
import { addPasskey, addPasskeyTo, assertion, creationOptions, signIn } from '../helpers/users/passkeys.js';
import { everyPermission, policyWith } from '../helpers/users/rights.js';
import { claimsOf, logIn, makeStale, modes, openSession, refresh, sessionOf } from '../helpers/users/sessions.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser } from '../helpers/users/users.js';

/** Where `enforce_tfa` applies, a second factor that a user has protects itself. `strength.test.ts` tries all combinations. */

const service = await startWithAdmin(t);
const { app, get, post, request } = service;
const strict = await policyWith(app, everyPermission, { enforceTfa: true });

type Headers = Record<string, string>;
const person = () => createSignedInUser(service, { policies: [strict] });
const options = (headers: Headers, to: TestApp = service) => to.post('/users/me/passkeys/options', {}, headers);
const isRestricted = async (headers: Headers) => (await get('/users/me/sessions', headers)).statusCode === 403;
const methodsIn = (response: Awaited<ReturnType<typeof options>>) => response.json().errors[0].extensions.methods;
const refusedToAll = async (t: Test, headers: Headers, what: string) => {
  const response = await options(headers);
  refused(t, response, 'REAUTHENTICATION_REQUIRED', what);
  t.strictSame(methodsIn(response), ['passkey'], what);
};

t.test('a passkey lifts the restriction of the session in every mode, and a refresh keeps it', async (t) => {
  for (const mode of modes) {
    const owner = await person();
    const passkey = await addPasskeyTo(service, owner.id);
    const session = await logIn(service, mode, owner);
    t.equal(claimsOf(session.accessToken).enforce_tfa, true);
    await refusedToAll(t, session.headers, mode);
    const credential = await assertion(service, passkey);
    t.equal((await post('/auth/reauthenticate', { credential }, session.headers)).statusCode, 204);
    t.notOk(await isRestricted(session.headers), mode);
    const next = sessionOf(mode, await refresh(service, session));
    t.equal(claimsOf(next.accessToken).enforce_tfa, undefined, mode);
    t.notOk(await isRestricted(next.headers), `${mode}: refreshed`);
    t.equal((await options(next.headers)).statusCode, 200, `${mode}: fresh`);
    await makeStale(app, owner.id);
    const weak = await post('/auth/reauthenticate', { password: owner.password }, next.headers);
    refused(t, weak, 'INVALID_CREDENTIALS', 'the password alone');
    const [event] = await recorded(app, weak.headers['x-request-id']);
    t.match(event, { action: 'reauthenticate', reason: 'one_factor' });
    await refusedToAll(t, next.headers, `${mode}: stale`);
  }
});

t.test('users without a second factor set one up in a restricted session, which proves it', async (t) => {
  const owner = await person();
  const session = await logIn(service, 'json', owner);
  t.ok(await isRestricted(session.headers));
  const credential = createAuthenticator({ verifies: false }).create(await creationOptions(service, session.headers));
  refused(t, await post('/users/me/passkeys', { credential }, session.headers), 'INVALID_PAYLOAD', 'not verified');
  await addPasskey(service, session.headers);
  t.notOk(await isRestricted(session.headers), 'after adding a passkey');
  await addPasskey(service, session.headers, { verifies: false });
  const next = sessionOf('json', await refresh(service, session));
  t.equal(claimsOf(next.accessToken).enforce_tfa, undefined);

  const other = await person();
  const { headers } = await logIn(service, 'json', other);
  t.equal((await other.generate({ password: other.password }, headers)).statusCode, 200);
  const otp = codeOfStep(nextStep(service));
  t.equal((await other.enable({ secret: rfcSecret.base32, otp }, headers)).statusCode, 204);
  t.notOk(await isRestricted(headers), 'after setting up an app');
  t.equal((await options(headers)).statusCode, 200);
});

t.test('of two sessions that set up the first factor simultaneously, only one succeeds', async (t) => {
  for (let round = 0; round < 3; round++) {
    const owner = await person();
    const [first, second] = [await openSession(app, owner.id), await openSession(app, owner.id)];
    const credentials = [];
    for (const headers of [first, second])
      credentials.push(createAuthenticator().create(await creationOptions(service, headers)));
    const otp = codeOfStep(nextStep(service));
    const responses = await Promise.all([
      post('/users/me/passkeys', { credential: credentials[0] }, first),
      round === 0
        ? post('/users/me/passkeys', { credential: credentials[1] }, second)
        : owner.enable({ secret: rfcSecret.base32, otp }, second),
    ]);
    const done = responses.filter(({ statusCode }) => statusCode < 300);
    t.equal(done.length, 1, responses.map(({ body }) => body).join('\n'));
    // Turning on two-factor authentication ends the other session.
    const codes = responses.filter((response) => !done.includes(response)).map(codeOf);
    t.ok(['REAUTHENTICATION_REQUIRED', 'INVALID_CREDENTIALS'].includes(codes[0] ?? ''), String(codes[0]));
  }
});

t.test('a policy that is added later protects a passkey', async (t) => {
  const everyday = await policyWith(app, everyPermission);
  const owner = await createSignedInUser(service, { policies: [everyday] });
  const passkey = await addPasskeyTo(service, owner.id);
  const session = await logIn(service, 'json', owner);
  t.equal((await options(session.headers)).statusCode, 200, 'before');
  await app.db.update(policies).set({ enforceTfa: true }).where(eq(policies.id, everyday));
  await refusedToAll(t, session.headers, 'after');
  t.equal((await options(sessionOf('json', await signIn(service, passkey)).headers)).statusCode, 200);
});

t.test('a session of an administrator that has not proved the passkey is not fresh', async (t) => {
  const powers = await policyWith(app, [], { adminAccess: true });
  const elsewhere = await policyWith(app, [], { enforceTfa: true, ipAccess: ['192.0.2.0/24'] });
  const root = await createSignedInUser(service, { policies: [powers, elsewhere] });
  const passkey = await addPasskeyTo(service, root.id);
  const other = await createSignedInUser(service, { policies: [powers] });
  const { headers } = await logIn(service, 'json', root);
  const grant = async () => {
    const { id } = await createSignedInUser(service);
    return request({ method: 'PATCH', url: `/users/${id}`, payload: { policies: [powers] }, headers });
  };
  const rename = () =>
    request({ method: 'PATCH', url: `/users/${other.id}`, payload: { token: null, title: 'x' }, headers });
  for (const send of [grant, rename, () => post(`/users/${other.id}/unlock`, undefined, headers)]) {
    const response = await send();
    refused(t, response, 'REAUTHENTICATION_REQUIRED', 'not proved');
    t.strictSame(methodsIn(response), ['passkey']);
  }
  const credential = await assertion(service, passkey);
  t.equal((await post('/auth/reauthenticate', { credential }, headers)).statusCode, 204);
  t.equal((await grant()).statusCode, 200);
  t.equal((await rename()).statusCode, 200);
});

t.test('a reset by email keeps the only second factor, and removes recent passkeys otherwise', async (t) => {
  const password = 'a new password, quite long';
  const reset = async ({ email }: { email: string }) => {
    await post('/auth/password/request', { email });
    t.equal((await post('/auth/password/reset', { token: await tokenFor(app, email), password })).statusCode, 204);
  };
  const count = async ({ id }: { id: string }) =>
    (await get(`/users/${id}/passkeys`, { authorization: 'Bearer the-static-token-of-the-administrator' })).json().data
      .length;
  const owner = await person();
  await addPasskeyTo(service, owner.id);
  await reset(owner);
  t.equal(await count(owner), 1, 'the only one');
  await refusedToAll(t, (await logIn(service, 'json', { ...owner, password })).headers, 'after the reset');

  const free = await createSignedInUser(service);
  await addPasskeyTo(service, free.id);
  await reset(free);
  t.equal(await count(free), 0, 'where no second factor is required');
  const careful = await createSignedInUser(service, { tfa: true, policies: [strict] });
  await addPasskeyTo(service, careful.id);
  await reset(careful);
  t.equal(await count(careful), 0, 'beside an app');
  const old = await person();
  const first = await addPasskeyTo(service, old.id);
  service.clock.advance(8 * 86_400_000);
  await addPasskey(service, sessionOf('json', await signIn(service, first)).headers);
  await reset(old);
  t.equal(await count(old), 1, 'beside an older one');
});

t.test('after the owner or an administrator has removed the last factor, another can be set up', async (t) => {
  const owner = await person();
  const passkey = await addPasskeyTo(service, owner.id);
  const { headers } = sessionOf('json', await signIn(service, passkey));
  const removed = await request({ method: 'DELETE', url: `/users/me/passkeys/${passkey.id}`, headers });
  t.equal(removed.statusCode, 204);
  const restricted = await logIn(service, 'json', owner);
  t.ok(await isRestricted(restricted.headers));
  const second = await addPasskey(service, restricted.headers);
  const asAdmin = { authorization: 'Bearer the-static-token-of-the-administrator' };
  const url = `/users/${owner.id}/passkeys/${second.id}`;
  t.equal((await request({ method: 'DELETE', url, headers: asAdmin })).statusCode, 204);
  const again = await logIn(service, 'json', owner);
  t.equal((await options(again.headers)).statusCode, 200);

  const careful = await createSignedInUser(service, { tfa: true, policies: [strict] });
  const { headers: own } = sessionOf('json', await careful.login(codeOfStep(nextStep(service))));
  t.equal((await careful.disable({ otp: codeOfStep(nextStep(service)) }, own)).statusCode, 204);
  t.ok(await isRestricted(own));
  t.equal((await options(own)).statusCode, 200);
});
