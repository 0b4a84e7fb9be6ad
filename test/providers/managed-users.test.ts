import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { identities, roles, settings } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, patch, refusedUnchanged, startWithAdmin } from '../helpers/http/writing.js';
import { findCode, mailsTo, tokenFor } from '../helpers/mail/mails.js';
import { startHostileIssuers } from '../helpers/providers/hostile-provider.js';
import { digestOfAccounts, identitiesOf, userBehind } from '../helpers/providers/provider-records.js';
import { completeLogin, createVisitor, followRedirect } from '../helpers/providers/visitor.js';
import { codeOf } from '../helpers/service/app.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';
import { addPasskeyTo, assertion, creationOptions, signIn } from '../helpers/users/passkeys.js';
import { createPolicy, everyPermission, policyWith } from '../helpers/users/rights.js';
import { makeStale } from '../helpers/users/sessions.js';
import { changeUser, createSignedInUser, type SignedInUser, storedUser } from '../helpers/users/users.js';

/** A managed user's role is determined by their provider (`ROLE_MAPPING`), so nothing but the provider may sign them in. */

const publicUrl = 'http://gatehouse.example.com';
const editor = randomUUID();
const { issuer } = await startHostileIssuers(t, ['issuer']);
const service = await startWithAdmin(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'mapped,plain',
  ...issuer.variables('mapped', { MODE: 'json', ROLE_MAPPING: JSON.stringify({ editors: editor }) }),
  ...issuer.variables('plain', { MODE: 'json' }),
});
const { app, get, post, request } = service;
await app.db.insert(roles).values({ id: editor, name: 'Editor' });
await app.db.update(settings).set({ emailLogin: true });
const everything = await policyWith(app, everyPermission);
const administration = await createPolicy(app, { adminAccess: true });

type Headers = Record<string, string>;
const newPassword = () => `a password nobody has guessed ${randomUUID()}`;
const newToken = () => `a-static-token-of-32-characters-${randomUUID()}`;

const link = async (user: string, provider: string, identifier: string, isPrimary: boolean) => {
  const [made] = await app.db
    .insert(identities)
    .values({ user, provider, identifier, email: null, isPrimary, createdAt: app.clock() })
    .returning({ id: identities.id });
  return made?.id ?? '';
};

/** A user of a provider, with a password, a passkey, and accounts at both providers, as from a time before the role was mapped. */
async function userOf(provider: 'mapped' | 'plain' | 'default', policy = everything) {
  const identifier = randomUUID();
  const person = await createSignedInUser(service, { policies: [policy] });
  const passkey = await addPasskeyTo(service, person.id);
  const own = provider === 'default' ? null : provider;
  if (own) await changeUser(app, person.id, { provider: own, externalIdentifier: identifier });
  const primary = own ? await link(person.id, own, identifier, true) : '';
  const others = {
    mapped: await link(person.id, 'mapped', `${identifier} too`, false),
    plain: await link(person.id, 'plain', `${identifier} too`, false),
  };
  return { ...person, identifier, passkey, primary, others };
}

const login = (provider: string, sub: string, claims: object = {}) => {
  issuer.useNewUser();
  issuer.claims = { ...issuer.claims, sub, ...claims };
  return completeLogin(createVisitor(service, publicUrl), provider, { family: 'oauth' }, followRedirect);
};

type Operation = (person: Awaited<ReturnType<typeof userOf>>, headers: Headers) => Promise<LightMyRequestResponse>;
const update =
  (data: () => object): Operation =>
  ({ id }, headers) =>
    request({ method: 'PATCH', url: `/users/${id}`, payload: data(), headers });
const operations: Record<string, Operation> = {
  'POST /users/me/password': (_user, headers) => post('/users/me/password', { password: newPassword() }, headers),
  'POST /users/me/password, with the current one': ({ password }, headers) =>
    post('/users/me/password', { password: newPassword(), current_password: password }, headers),
  'PATCH /users/me: password': (_user, headers) =>
    request({ method: 'PATCH', url: '/users/me', payload: { password: newPassword() }, headers }),
  'PATCH /users/me: token': (_user, headers) =>
    request({ method: 'PATCH', url: '/users/me', payload: { token: newToken() }, headers }),
  'PATCH /users/{id}: password among others': update(() => ({ title: 'Dr.', password: newPassword() })),
  'PATCH /users/{id}: token': update(() => ({ token: newToken() })),
  'PATCH /users, by keys': ({ id }, headers) =>
    request({ method: 'PATCH', url: '/users', payload: { keys: [id], data: { token: newToken() } }, headers }),
  'PATCH /users, a list': ({ id }, headers) =>
    request({ method: 'PATCH', url: '/users', payload: [{ id, password: newPassword() }], headers }),
  'PATCH /users, by a query': ({ id }, headers) => {
    const payload = { query: { filter: { id: { _eq: id } } }, data: { password: newPassword() } };
    return request({ method: 'PATCH', url: '/users', payload, headers });
  },
  'POST /users/me/passkeys/options': (_user, headers) => post('/users/me/passkeys/options', {}, headers),
  'POST /users/me/identities/{id}, another provider': (_user, headers) =>
    post('/users/me/identities/plain', {}, headers),
  'POST /users/me/identities/{id}, the same provider': (_user, headers) =>
    post('/users/me/identities/mapped', {}, headers),
  'DELETE /users/me/identities/{id}, the primary one': ({ primary }, headers) =>
    request({ method: 'DELETE', url: `/users/me/identities/${primary}`, headers }),
  'DELETE /users/me/identities/{id}, another one': ({ others }, headers) =>
    request({ method: 'DELETE', url: `/users/me/identities/${others.plain}`, headers }),
};

t.test('a managed user cannot change how they sign in', async (t) => {
  for (const [who, policy] of [
    ['a user', everything],
    ['an administrator', administration],
  ] as const) {
    const managed = await userOf('mapped', policy);
    const forbidden = ['FORBIDDEN', { reason: /managed/ }] as const;
    const check = async (freshness: string) => {
      for (const [what, operation] of Object.entries(operations)) {
        const before = await digestOfAccounts(app);
        const response = await operation(managed, managed.headers);
        refused(t, response, 'FORBIDDEN', `${who}: ${what}, ${freshness}`);
        t.match(response.json().errors[0].extensions, forbidden[1], what);
        t.equal(await digestOfAccounts(app), before, `${what}: nothing changed`);
      }
    };
    await check('fresh');
    await makeStale(app, managed.id);
    await check('stale');
  }
  const late = await createSignedInUser(service, { policies: [everything] });
  const credential = createAuthenticator().create(await creationOptions(service, late.headers));
  await changeUser(app, late.id, { provider: 'mapped', externalIdentifier: randomUUID() });
  const add = () => post('/users/me/passkeys', { credential }, late.headers);
  await refusedUnchanged(t, service, add, ['FORBIDDEN'], 'a passkey whose options are older');
});

t.test('what the provider takes away is gone: nothing else signs a managed user in', async (t) => {
  const { identifier } = await userOf('mapped');
  const roleNow = async () => (await userBehind(app, 'mapped', identifier))?.user.role;
  t.equal((await login('mapped', identifier, { groups: ['editors'] })).statusCode, 200);
  t.equal(await roleNow(), editor);
  t.equal((await login('mapped', identifier, { groups: [] })).statusCode, 200);
  t.equal(await roleNow(), null);
  const managed = await userOf('mapped');
  const unknown = await post('/auth/login', { email: 'nobody@example.com', password: 'x' });
  const unknownPasskey = await post('/auth/passkey', {
    credential: createAuthenticator().get({ challenge: (await assertion(service, managed.passkey)).id }),
  });
  const ways: Record<string, [response: LightMyRequestResponse, like: LightMyRequestResponse]> = {
    'the password': [await managed.login(), unknown],
    'a passkey': [await signIn(service, managed.passkey), unknownPasskey],
    'an account at another provider': [await login('plain', `${managed.identifier} too`), unknown],
    'another account at the same provider': [await login('mapped', `${managed.identifier} too`), unknown],
  };
  for (const [what, [response, like]] of Object.entries(ways)) {
    refused(t, response, 'INVALID_CREDENTIALS', what);
    t.strictSame(response.json(), like.json(), `${what}: like any other refusal`);
  }
  const [event] = await recorded(app, ways['another account at the same provider']?.[0].headers['x-request-id']);
  t.match(event, { code: 'INVALID_CREDENTIALS', reason: 'managed' });
  t.equal((await login('mapped', managed.identifier)).statusCode, 200, 'the provider');

  const browser = createVisitor(service, publicUrl);
  const { email } = managed;
  await browser.send({ method: 'POST', url: '/auth/email/request', payload: { email } });
  await post('/auth/password/request', { email });
  t.notOk(
    (await mailsTo(app, email)).some((mail) => findCode(mail) || /reset-password/.test(mail.text)),
    'no email',
  );

  const former = await createSignedInUser(service);
  await browser.send({ method: 'POST', url: '/auth/email/request', payload: { email: former.email } });
  const token = await tokenFor(app, former.email);
  await changeUser(app, former.id, { provider: 'mapped', externalIdentifier: randomUUID() });
  refused(t, await post('/auth/email', { token }), 'INVALID_CREDENTIALS', 'a link that was sent before');
});

t.test('what does not sign a managed user in does not make a session fresh', async (t) => {
  const managed = await userOf('mapped');
  await makeStale(app, managed.id);
  const prove = (body: object) => post('/auth/reauthenticate', body, managed.headers);
  const credential = await assertion(service, managed.passkey);
  refused(t, await prove({ password: managed.password }), 'INVALID_CREDENTIALS', 'the password');
  refused(t, await prove({ credential }), 'INVALID_CREDENTIALS', 'a passkey');
  t.equal((await post('/auth/email/request', {}, managed.headers)).statusCode, 204);
  t.notOk((await mailsTo(app, managed.email)).some(findCode), 'no code');
  refused(t, await prove({ code: '123456' }), 'INVALID_CREDENTIALS', 'a code');
  const change = await post('/users/me/email', { email: 'new@example.com' }, managed.headers);
  t.match(change.json().errors[0].extensions, { code: 'REAUTHENTICATION_REQUIRED', methods: ['provider'] });
  t.notOk((await get('/users/me/profile', managed.headers)).json().data.has_password);
});

t.test('administrators still manage the sign-in of managed users', async (t) => {
  const managed = await userOf('mapped');
  const token = newToken();
  t.equal((await patch(service, `/users/${managed.id}`, { token })).statusCode, 200);
  const own = { authorization: `Bearer ${token}` };
  t.equal((await get('/users/me', own)).statusCode, 200);
  const url = `/users/${managed.id}/passkeys/${managed.passkey.id}`;
  t.equal((await request({ method: 'DELETE', url, headers: asAdmin })).statusCode, 204);
  const listed = async () => (await get(`/users/${managed.id}/identities`, asAdmin)).json().data;
  const flags = (await listed()).map(({ id, managed: flag }: { id: string; managed: boolean }) => [id, flag]);
  t.strictSame(Object.fromEntries(flags), {
    [managed.primary]: true,
    [managed.others.mapped]: false,
    [managed.others.plain]: false,
  });
  t.strictSame((await get('/users/me/identities', own)).json().data, await listed(), 'what the user sees');
  for (const identity of [managed.primary, managed.others.plain, managed.others.mapped]) {
    const unlink = () =>
      request({ method: 'DELETE', url: `/users/${managed.id}/identities/${identity}`, headers: asAdmin });
    await refusedUnchanged(t, service, unlink, ['FORBIDDEN'], 'a linked account');
  }
  const released = { provider: 'default', external_identifier: null, password: newPassword() };
  t.equal((await patch(service, `/users/${managed.id}`, released)).statusCode, 200);
  t.notOk(
    (await listed()).some((identity: { managed: boolean }) => identity.managed),
    'released: no account',
  );
  const { email } = managed;
  t.equal((await post('/auth/login', { email, password: released.password })).statusCode, 200, 'released');
  const linked = `/users/${managed.id}/identities/${managed.others.plain}`;
  t.equal(
    (await request({ method: 'DELETE', url: linked, headers: asAdmin })).statusCode,
    204,
    'released: a linked account',
  );
});

t.test('users who only link an account at a provider that maps roles are not managed', async (t) => {
  for (const provider of ['plain', 'default'] as const) {
    const user = await userOf(provider);
    const other = `${user.identifier} too`;
    t.equal((await login('mapped', other, { groups: ['editors'] })).statusCode, 200);
    t.equal((await storedUser(app, user.id)).role, null, 'the role stays');
    t.equal((await signIn(service, user.passkey)).statusCode, 200, 'a passkey');
    t.equal((await login('plain', other)).statusCode, 200, 'another account');
    t.equal((await post('/users/me/passkeys/options', {}, user.headers)).statusCode, 200);
    t.equal((await post('/users/me/password', { password: newPassword() }, user.headers)).statusCode, 204);
  }
  const user = await userOf('plain');
  const unlink = (id: string) =>
    request({ method: 'DELETE', url: `/users/me/identities/${id}`, headers: user.headers });
  t.equal((await unlink(user.others.plain)).statusCode, 204);
  t.equal((await unlink(user.primary)).statusCode, 204);
  t.match(
    await storedUser(app, user.id),
    { provider: 'default', externalIdentifier: null },
    'they do not become managed',
  );
  t.match(await identitiesOf(app, user.id), [{ provider: 'mapped', isPrimary: false }]);
});

t.test('users of a provider who set a password can sign in with it, and still through the provider', async (t) => {
  const ways: Record<string, (person: SignedInUser, password: string) => Promise<LightMyRequestResponse>> = {
    'POST /users/me/password': ({ headers }, password) => post('/users/me/password', { password }, headers),
    'PATCH /users/me': ({ headers }, password) => patch(service, '/users/me', { password }, headers),
    'PATCH /users/{id}': ({ id, headers }, password) => patch(service, `/users/${id}`, { password }, headers),
    'PATCH /users, a list': ({ id, headers }, password) => patch(service, '/users', [{ id, password }], headers),
  };
  for (const [way, set] of Object.entries(ways)) {
    const identifier = randomUUID();
    const columns = { provider: 'plain', externalIdentifier: identifier, authData: { x: 1 }, password: null };
    const person = await createSignedInUser(service, { policies: [everything], ...columns });
    await link(person.id, 'plain', identifier, true);
    const { id, email, headers } = person;
    const password = newPassword();
    const logIn = (secret = password) => post('/auth/login', { email, password: secret });
    const reset = async () => {
      const before = (await mailsTo(app, email)).length;
      await post('/auth/password/request', { email });
      return (await mailsTo(app, email)).length - before;
    };
    refused(t, await logIn(), 'INVALID_CREDENTIALS', 'before');
    t.equal(await reset(), 0);

    const done = await set(person, password);
    t.ok(done.statusCode < 300, `${way}: ${done.statusCode} ${done.statusCode < 300 ? '' : done.body}`);
    t.match(await storedUser(app, id), { provider: 'default', externalIdentifier: null, authData: null }, way);
    t.match((await get('/users/me/profile', headers)).json().data, { has_password: true, providers: ['plain'] });
    t.match(await identitiesOf(app, id), [{ provider: 'plain', identifier, isPrimary: false }]);
    t.equal((await logIn()).statusCode, 200, `${way}: the password`);
    t.equal((await login('plain', identifier)).statusCode, 200, `${way}: the provider`);
    await makeStale(app, id);
    t.equal((await post('/auth/reauthenticate', { password }, headers)).statusCode, 204, `${way}: to confirm it`);
    t.equal(await reset(), 1, `${way}: a reset`);
    const renewed = newPassword();
    const chosen = await post('/auth/password/reset', { token: await tokenFor(app, email), password: renewed });
    t.equal(chosen.statusCode, 204, `${way}: ${chosen.body}`);
    t.equal((await logIn(renewed)).statusCode, 200);

    const back = { provider: 'plain', external_identifier: identifier };
    t.equal((await patch(service, `/users/${id}`, back)).statusCode, 200, 'an administrator moves the user back');
    t.match(await identitiesOf(app, id), [{ provider: 'plain', identifier, isPrimary: true }]);
    refused(t, await logIn(renewed), 'INVALID_CREDENTIALS', 'moved back');
    t.equal((await login('plain', identifier)).statusCode, 200);
  }
  const person = await createSignedInUser(service, { policies: [everything] });
  const identity = await link(person.id, 'plain', randomUUID(), true);
  await changeUser(app, person.id, { provider: 'plain', externalIdentifier: randomUUID() });
  t.equal((await post('/users/me/password', { password: newPassword() }, person.headers)).statusCode, 204);
  const url = `/users/me/identities/${identity}`;
  t.equal((await request({ method: 'DELETE', url, headers: person.headers })).statusCode, 204, 'and can unlink it');
  t.equal(codeOf(await post('/users/me/identities/plain', {}, person.headers)), undefined, 'and link another one');
});
