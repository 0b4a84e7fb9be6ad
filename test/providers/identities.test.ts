import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { providerVariables } from '../helpers/providers/openid-provider.js';
import { digestOfAccounts, identitiesOf, sessionsOf, userBehind } from '../helpers/providers/provider-records.js';
import { refusedLogin, sentBack } from '../helpers/providers/refused-logins.js';
import {
  begin,
  completeLogin,
  createVisitor,
  followRedirect,
  type Start,
  startLinking,
  type Visitor,
} from '../helpers/providers/visitor.js';
import { json, startWebServer } from '../helpers/servers/web-server.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { changeUser, createUser, storedUser, type TestUser } from '../helpers/users/users.js';

const publicUrl = 'http://gatehouse.example.com';
const keys = ['alpha', 'beta', 'closed'] as const;
const server = await startOauth2Server(t, { publicUrl, keys });
const open = { ALLOW_PUBLIC_REGISTRATION: 'true' };
/** Serves the discovery document of another issuer. */
const stranger = await startWebServer(t, () => json({ issuer: 'https://another.example.com' }));
const testApp = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: [...keys, 'misnamed'].join(','),
  ...providerVariables('misnamed', { DRIVER: 'openid', CLIENT_ID: 'x', CLIENT_SECRET: 'x', ISSUER_URL: stranger }),
  ...server.variables('alpha', open),
  ...server.variables('beta', open),
  ...server.variables('closed'),
});
const { app, get, post, request } = testApp;
const newVisitor = () => createVisitor(testApp, publicUrl);

let people = 0;

/** Creates an account at the provider, which signs in with it from now on. */
function newPerson(profile: Record<string, unknown> = {}) {
  const id = `octo-${++people}`;
  const email = `${id}@example.com`;
  server.profile = { id, name: 'Mona', email, ...profile };
  return { id, email };
}

type Key = (typeof keys)[number];

const login = (key: Key, start: Start = { family: 'oauth' }, visitor = newVisitor()) =>
  completeLogin(visitor, key, start, followRedirect);

const link = (key: Key, visitor: Visitor, start: Start = {}) => login(key, { link: true, ...start }, visitor);

async function signIn(visitor: Visitor, account: TestUser): Promise<void> {
  const { email, password } = account;
  const payload = { email, password, mode: 'session' };
  const response = await visitor.send({ method: 'POST', url: '/auth/login', payload });
  if (response.statusCode !== 200) throw new Error(`Not signed in: ${response.body}`);
}

/** A user with a password, signed in with a browser. */
async function signedIn() {
  const account = await createUser(app);
  const visitor = newVisitor();
  await signIn(visitor, account);
  return { account, visitor };
}

/** A user who can sign in only through a provider, signed in with a browser. */
async function signedInByProvider(key: 'alpha' | 'beta' = 'alpha') {
  const person = newPerson();
  const visitor = newVisitor();
  const response = await login(key, {}, visitor);
  if (response.statusCode !== 302) throw new Error(`Not signed in: ${response.body}`);
  const found = await userBehind(app, key, person.id);
  if (!found) throw new Error('The login did not create a user.');
  return { ...person, visitor, user: found.user, identity: found.identity };
}

interface Listed {
  id: string;
  provider: string;
  external_identifier: string;
  email: string | null;
  primary: boolean;
  created_at: string;
  last_used_at: string | null;
}

async function list(visitor: Visitor): Promise<Listed[]> {
  const response = await visitor.visit('/users/me/identities');
  if (response.statusCode !== 200) throw new Error(`The identities cannot be listed: ${response.body}`);
  return response.json().data;
}

const unlink = (visitor: Visitor, id: string) => visitor.send({ method: 'DELETE', url: `/users/me/identities/${id}` });

async function changesNothing(t: Test, work: () => Promise<unknown>, what: string): Promise<void> {
  const before = await digestOfAccounts(app);
  await work();
  t.equal(await digestOfAccounts(app), before, `${what}: nothing was stored`);
}

t.test('a linked account at a provider signs its user in', async (t) => {
  for (const redirect of [undefined, '/account?x=1']) {
    const { account, visitor } = await signedIn();
    const { id, email } = newPerson();
    const count = await app.db.$count(users);
    const response = await link('alpha', visitor, redirect === undefined ? {} : { redirect });
    t.equal(response.statusCode, 302, response.body);
    t.equal(response.headers.location, redirect ?? '/');
    t.equal(await app.db.$count(users), count, 'no user was created');
    t.equal((await visitor.visit('/users/me')).json().data?.id, account.id, 'the user is still signed in');

    const [identity, ...more] = await list(visitor);
    t.strictSame(more, []);
    t.strictSame(Object.keys(identity ?? {}).sort(), [
      'created_at',
      'email',
      'external_identifier',
      'id',
      'last_used_at',
      'managed',
      'primary',
      'provider',
    ]);
    t.match(identity, { provider: 'alpha', external_identifier: id, email });
    t.match(identity?.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    t.equal((await login('alpha')).statusCode, 200);
    t.equal((await userBehind(app, 'alpha', id))?.user.id, account.id);
    t.equal(await app.db.$count(users), count);
    t.equal((await post('/auth/login', account)).statusCode, 200, 'the password still works');
    const { email: stored, provider, firstName } = await storedUser(app, account.id);
    t.match({ stored, provider, firstName }, { stored: account.email, provider: 'default', firstName: null });
  }
});

t.test('linking the same account again creates no second identity', async (t) => {
  const { visitor } = await signedIn();
  newPerson();
  t.equal((await link('alpha', visitor)).statusCode, 302);
  const before = await list(visitor);
  t.equal((await link('alpha', visitor)).statusCode, 302);
  t.strictSame(
    (await list(visitor)).map(({ id }) => id),
    before.map(({ id }) => id),
  );
});

t.test('a user can link several providers, and several accounts at one provider', async (t) => {
  const { visitor, account } = await signedIn();
  for (const key of ['alpha', 'beta', 'closed', 'alpha'] as const) {
    newPerson();
    t.equal((await link(key, visitor)).statusCode, 302, key);
    const response = await login(key);
    t.equal(response.statusCode, 200, `${key}: ${response.body}`);
  }
  const all = await list(visitor);
  t.strictSame(all.map(({ provider }) => provider).sort(), ['alpha', 'alpha', 'beta', 'closed']);
  t.equal((await identitiesOf(app, account.id)).length, 4);
});

t.test('a user who signed up through one provider can link another', async (t) => {
  const { visitor, user, id } = await signedInByProvider();
  const person = newPerson();
  t.equal((await link('beta', visitor)).statusCode, 302);
  t.match(
    (await list(visitor)).sort((a, b) => a.provider.localeCompare(b.provider)),
    [
      { provider: 'alpha', external_identifier: id, primary: true },
      { provider: 'beta', external_identifier: person.id, primary: false },
    ],
  );
  t.equal((await userBehind(app, 'beta', person.id))?.user.id, user.id);
});

t.test('linking ignores the email address of the account at the provider', async (t) => {
  const other = await createUser(app);
  const { visitor, account } = await signedIn();
  const { id } = newPerson({ email: other.email });
  t.equal((await link('alpha', visitor)).statusCode, 302);
  t.equal((await userBehind(app, 'alpha', id))?.user.id, account.id);
  t.equal((await storedUser(app, account.id)).email, account.email);
});

t.test('linking, listing, and unlinking identities require authentication', async (t) => {
  for (const headers of [{}, { cookie: 'gatehouse_session_token=x' }] as Record<string, string>[]) {
    const response = await startLinking(newVisitor(), 'alpha', {}, headers);
    refused(t, response, 'INVALID_CREDENTIALS', JSON.stringify(headers));
  }
  for (const method of ['GET', 'DELETE'] as const) {
    const url = method === 'GET' ? '/users/me/identities' : `/users/me/identities/${randomUUID()}`;
    refused(t, await request({ method, url }), 'INVALID_CREDENTIALS', `${method} ${url}`);
  }
});

t.test('a page on another site cannot start linking', async (t) => {
  const { visitor, account } = await signedIn();
  for (const site of ['cross-site', 'same-site']) {
    await changesNothing(
      t,
      async () => refused(t, await startLinking(visitor, 'alpha', {}, { 'sec-fetch-site': site }), 'FORBIDDEN', site),
      site,
    );
  }
  for (const site of ['same-origin', 'none']) {
    t.equal((await startLinking(visitor, 'alpha', {}, { 'sec-fetch-site': site })).statusCode, 200, site);
  }
  t.strictSame(await identitiesOf(app, account.id), []);
});

t.test('no GET request starts linking, even if the user is signed in', async (t) => {
  const { visitor, account } = await signedIn();
  const thief = newPerson();
  const { access_token: token } = (await post('/auth/login', { ...account, mode: 'json' })).json().data;
  const cookie = await visitor.cookies('/');
  for (const path of [
    '/auth/login/alpha?link=true',
    '/auth/login/alpha?link=true&redirect=/account',
    '/auth/login/alpha?link=TRUE',
    '/auth/login/alpha?link=true&link=true',
    '/auth/oauth/alpha?link=true',
    '/users/me/identities/alpha',
    '/users/me/identities/alpha?_method=POST&link=true',
    `/auth/login/alpha?link=true&access_token=${token}`,
  ]) {
    const browser = newVisitor();
    const headers: Record<string, string> = path.includes('access_token') ? {} : { cookie };
    const response = await browser.visit(path, headers);
    if (path.startsWith('/users')) refused(t, response, 'ROUTE_NOT_FOUND', path);
    else {
      t.equal(response.statusCode, 302, path);
      await browser.visit(await followRedirect(String(response.headers.location)), {
        cookie: `${cookie}; ${await browser.cookies('/')}`,
      });
    }
    t.strictSame(await identitiesOf(app, account.id), [], path);
  }
  t.not((await userBehind(app, 'alpha', thief.id))?.user.id, account.id);
});

t.test('linking works only with configured providers, and the body accepts only a redirect', async (t) => {
  const { visitor } = await signedIn();
  const { statusCode, headers, body } = await startLinking(visitor, 'alpha', { redirect: '/account' });
  t.equal(statusCode, 200);
  t.strictSame(Object.keys(JSON.parse(body)), ['data']);
  t.strictSame(Object.keys(JSON.parse(body).data), ['url']);
  const names = [headers['set-cookie'] ?? []].flat().map((line) => line.split('=', 1)[0]);
  t.strictSame(names.sort(), ['gatehouse_provider_state', 'gatehouse_provider_verifier']);
  for (const key of ['gamma', 'ALPHA', randomUUID()]) {
    refused(t, await startLinking(visitor, key), 'ROUTE_NOT_FOUND', key);
  }
  for (const payload of [
    { redirect: '//evil.example' },
    { redirect: 'https://evil.example' },
    { redirect: '/\\evil.example' },
    { redirect: 1 },
    { redirect: null },
    { link: true },
    [],
  ]) {
    refused(t, await startLinking(visitor, 'alpha', payload), 'INVALID_PAYLOAD', JSON.stringify(payload));
  }
  refused(t, await startLinking(visitor, 'misnamed'), 'INVALID_PROVIDER_CONFIG', 'another issuer');
});

t.test('an ordinary login links nothing, even if the user is signed in', async (t) => {
  const { visitor, account } = await signedIn();
  const { id } = newPerson();
  for (const query of ['', '?link=false', '?link=0', '?link=']) {
    const response = await visitor.visit(`/auth/oauth/alpha${query}`);
    if (response.statusCode === 400) continue;
    await visitor.visit(await followRedirect(String(response.headers.location)));
    t.strictSame(await identitiesOf(app, account.id), [], query);
  }
  t.not((await userBehind(app, 'alpha', id))?.user.id, account.id);
});

t.test('an account that is linked to another user cannot be linked', async (t) => {
  const owner = await signedInByProvider();
  const thief = await signedIn();
  server.profile = { id: owner.id, name: 'Thief', email: 'thief@example.com' };
  await changesNothing(
    t,
    async () => {
      refusedLogin(t, await link('alpha', thief.visitor), 'INVALID_PROVIDER', 'in JSON');
      sentBack(t, await link('alpha', thief.visitor, { redirect: '/a?b' }), '/a', 'INVALID_PROVIDER', 'sent back');
    },
    'linking an account of another user',
  );
  t.equal((await userBehind(app, 'alpha', owner.id))?.user.id, owner.user.id);

  t.test('if two users link the same account at the same time, only one succeeds', async (t) => {
    const [one, two] = [await signedIn(), await signedIn()];
    const { id } = newPerson();
    const callbacks = await Promise.all(
      [one, two].map(async ({ visitor }) => followRedirect(await begin(visitor, 'alpha', { link: true }))),
    );
    const responses = await Promise.all([one, two].map(({ visitor }, index) => visitor.visit(callbacks[index] ?? '')));
    const [loser, ...others] = responses.filter(({ statusCode }) => statusCode >= 400);
    t.equal(others.length, 0, 'one of them succeeds');
    if (loser) refusedLogin(t, loser, 'INVALID_PROVIDER', 'the other one fails');
    const owned = [...(await identitiesOf(app, one.account.id)), ...(await identitiesOf(app, two.account.id))];
    t.strictSame(
      owned.map(({ identifier }) => identifier),
      [id],
    );
  });
});

t.test('linking fails if the browser signs in as another user before the callback', async (t) => {
  const { visitor, account } = await signedIn();
  const other = await createUser(app);
  newPerson();
  const callback = await followRedirect(await begin(visitor, 'alpha', { link: true }));
  await signIn(visitor, other);
  refusedLogin(t, await visitor.visit(callback), 'INVALID_CREDENTIALS', 'another user returns');
  t.strictSame(await identitiesOf(app, other.id), []);
  t.strictSame(await identitiesOf(app, account.id), [], 'nothing is linked to the user who started it');
});

t.test('linking fails if the user is suspended or signs out before the callback', async (t) => {
  for (const what of ['suspended', 'signed out'] as const) {
    const { visitor, account } = await signedIn();
    newPerson();
    const callback = await followRedirect(await begin(visitor, 'alpha', { link: true }));
    if (what === 'suspended') await changeUser(app, account.id, { status: 'suspended' });
    else await visitor.send({ method: 'POST', url: '/auth/logout', payload: { mode: 'session' } });
    const count = await app.db.$count(users);
    refusedLogin(t, await visitor.visit(callback), 'INVALID_CREDENTIALS', what);
    t.strictSame(await identitiesOf(app, account.id), [], what);
    t.equal(await app.db.$count(users), count, `${what}: no user was created`);
  }
});

t.test('users see only their own identities', async (t) => {
  const [one, two] = [await signedInByProvider(), await signedInByProvider('beta')];
  t.strictSame(
    (await list(one.visitor)).map(({ external_identifier }) => external_identifier),
    [one.id],
  );
  t.strictSame(
    (await list(two.visitor)).map(({ external_identifier }) => external_identifier),
    [two.id],
  );
  const { visitor } = await signedIn();
  t.strictSame(await list(visitor), []);
  newPerson();
  const token = (await login('alpha')).json().data?.access_token;
  t.equal((await get('/users/me/identities', bearer(token))).statusCode, 200, 'an access token works too');
});

t.test('an unlinked account no longer signs its user in, and can be linked again', async (t) => {
  const { visitor, account } = await signedIn();
  const { id } = newPerson();
  await link('closed', visitor);
  const [identity] = await list(visitor);
  const response = await unlink(visitor, identity?.id ?? '');
  t.equal(response.statusCode, 204);
  t.equal(response.body, '');
  t.strictSame(await list(visitor), []);
  t.equal(await userBehind(app, 'closed', id), undefined);
  refusedLogin(t, await login('closed'), 'INVALID_CREDENTIALS', 'after unlinking');
  refused(t, await unlink(visitor, identity?.id ?? ''), 'FORBIDDEN', 'unlinking it again');
  t.equal((await post('/auth/login', account)).statusCode, 200);

  await link('closed', visitor);
  t.equal((await list(visitor)).length, 1, 'it can be linked again');
});

t.test('unknown identities, and identities of other users, cannot be unlinked', async (t) => {
  const owner = await signedInByProvider();
  const { visitor } = await signedIn();
  newPerson();
  await link('beta', visitor);
  await changesNothing(
    t,
    async () => {
      for (const id of [owner.identity.id, owner.identity.id.toUpperCase(), randomUUID(), 'x', '%00', '1', 'null']) {
        refused(t, await unlink(visitor, id), 'FORBIDDEN', id);
      }
    },
    'identities of other users',
  );
});

t.test('the only way to sign in cannot be unlinked', async (t) => {
  const { visitor, user, identity } = await signedInByProvider();
  await changesNothing(
    t,
    async () => refused(t, await unlink(visitor, identity.id), 'UNPROCESSABLE_CONTENT', 'the only one'),
    'the only one',
  );
  const person = newPerson();
  await link('beta', visitor);
  t.equal((await unlink(visitor, identity.id)).statusCode, 204, 'the primary one of two');
  const [left, ...more] = await list(visitor);
  t.strictSame(more, []);
  t.match(left, { provider: 'beta', external_identifier: person.id, primary: true }, 'the other one becomes primary');
  const stored = await storedUser(app, user.id);
  t.match(stored, { provider: 'beta', externalIdentifier: person.id });
  refused(t, await unlink(visitor, left?.id ?? ''), 'UNPROCESSABLE_CONTENT', 'the last one');
  t.equal((await login('beta')).statusCode, 200);

  t.test('a password without an email address is not a way to sign in', async (t) => {
    const both = await signedInByProvider();
    const password = (await createUser(app)).password;
    await changeUser(app, both.user.id, { email: null, password: await app.passwords.hash(password) });
    refused(t, await unlink(both.visitor, both.identity.id), 'UNPROCESSABLE_CONTENT', 'the password cannot be used');
    await changeUser(app, both.user.id, { email: both.email });
    t.equal((await unlink(both.visitor, both.identity.id)).statusCode, 204);
  });

  t.test('if two identities are unlinked at the same time, one stays', async (t) => {
    const both = await signedInByProvider();
    newPerson();
    await link('beta', both.visitor);
    const ids = (await list(both.visitor)).map(({ id }) => id);
    const statuses = (await Promise.all(ids.map((id) => unlink(both.visitor, id)))).map(({ statusCode }) => statusCode);
    t.strictSame(statuses.sort(), [204, 422]);
    t.equal((await identitiesOf(app, both.user.id)).length, 1);
  });
});

t.test('deleting a user deletes their identities, which other users can then link', async (t) => {
  const { user, id } = await signedInByProvider();
  const { data } = (await post('/auth/login', administrator)).json();
  const headers = bearer(data.access_token);
  t.equal((await request({ method: 'DELETE', url: `/users/${user.id}`, headers })).statusCode, 204);
  t.equal(await userBehind(app, 'alpha', id), undefined);
  const { visitor, account } = await signedIn();
  server.profile = { id, name: 'Mona', email: 'mona@example.com' };
  t.equal((await link('alpha', visitor)).statusCode, 302);
  t.equal((await userBehind(app, 'alpha', id))?.user.id, account.id);
  t.ok((await sessionsOf(app, account.id)).length >= 1);
});
