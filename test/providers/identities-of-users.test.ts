import { randomUUID } from 'node:crypto';
import t from 'tap';
import { identities } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { mailsTo } from '../helpers/mail/mails.js';
import { providerVariables } from '../helpers/providers/openid-provider.js';
import { identitiesOf } from '../helpers/providers/provider-records.js';
import { addPasskeyTo } from '../helpers/users/passkeys.js';
import { assertUnchanged, createPolicy, everyPermission, policyWith } from '../helpers/users/rights.js';
import { makeStale, openSession } from '../helpers/users/sessions.js';
import { changeUser, createUser, createUserWithToken, type NewUser, storedUser } from '../helpers/users/users.js';

/** Administrators list and unlink the accounts at providers of other users. */

/** A provider that no test contacts. */
const providerAt = (key: string, more: Record<string, string> = {}) =>
  providerVariables(key, {
    DRIVER: 'oauth2',
    CLIENT_ID: 'id',
    CLIENT_SECRET: 'secret',
    AUTHORIZE_URL: 'https://provider.example.com/authorize',
    ACCESS_URL: 'https://provider.example.com/token',
    PROFILE_URL: 'https://provider.example.com/profile',
    ...more,
  });
const service = await startWithAdmin(t, {
  AUTH_PROVIDERS: 'alpha,beta',
  ...providerAt('alpha', { LABEL: 'Alpha Inc.' }),
  ...providerAt('beta'),
});
const { app, clock, get, post, request } = service;
const administration = await createPolicy(app, { adminAccess: true });

type Headers = Record<string, string>;
const listOf = (user: string, headers: Headers = asAdmin) => get(`/users/${user}/identities`, headers);
const unlinkOf = (user: string, identity: string, headers: Headers = asAdmin) =>
  request({ method: 'DELETE', url: `/users/${user}/identities/${identity}`, headers });

async function link(user: string, provider = 'alpha', isPrimary = false): Promise<string> {
  const identifier = randomUUID();
  const row = { user, provider, identifier, email: `${identifier}@example.com`, isPrimary, createdAt: clock.now() };
  const [made] = await app.db.insert(identities).values(row).returning({ id: identities.id });
  if (isPrimary) await changeUser(app, user, { provider, externalIdentifier: identifier });
  return made?.id ?? '';
}

/** A user with a session, and with an account at a provider. */
async function linkedUser(columns: NewUser = {}, isPrimary = false) {
  const user = await createUser(app, columns);
  return { ...user, headers: await openSession(app, user.id), identity: await link(user.id, 'alpha', isPrimary) };
}

t.test('an administrator lists the linked accounts of a user', async (t) => {
  const { id, headers, identity } = await linkedUser();
  const primary = await link(id, 'beta', true);
  const { data } = (await listOf(id)).json();
  t.match(data, [
    { id: primary, provider: 'beta', primary: true, managed: false },
    { id: identity, provider: 'alpha', primary: false },
  ]);
  t.strictSame(data, (await get('/users/me/identities', headers)).json().data, 'what the user sees');
  t.strictSame((await listOf(id.toUpperCase())).json().data, data, 'in upper case');
  t.strictSame((await listOf((await createUser(app)).id)).json().data, [], 'a user without linked accounts');
});

t.test('unlinking an account ends the sessions of the user, is recorded, and sends a notice', async (t) => {
  const { id, email, headers, identity } = await linkedUser();
  const kept = await linkedUser();
  const response = await unlinkOf(id, identity);
  t.equal(response.statusCode, 204, response.body);
  t.equal(response.body, '');
  t.strictSame(await identitiesOf(app, id), []);
  t.match(await recorded(app, response.headers['x-request-id']), [
    { action: 'identity_unlink', collection: 'identities', item: identity, outcome: 'success' },
  ]);
  refused(t, await get('/users/me', headers), 'INVALID_CREDENTIALS', 'the session of the user');
  const [notice, ...more] = await mailsTo(app, email);
  t.strictSame(more, []);
  t.equal(notice?.subject, 'Alpha Inc. was disconnected from your Gatehouse account');
  t.match(notice?.text, 'By: an administrator of Gatehouse');
  refused(t, await unlinkOf(id, identity), 'FORBIDDEN', 'unlinking it again');

  t.equal((await unlinkOf(kept.id.toUpperCase(), kept.identity.toUpperCase())).statusCode, 204, 'in upper case');
  refused(t, await get('/users/me', kept.headers), 'INVALID_CREDENTIALS', 'the session, in upper case');
  t.equal((await mailsTo(app, kept.email)).length, 1, 'the notice, in upper case');
});

t.test('only administrators list and unlink accounts of users, and only those that exist', async (t) => {
  const user = await linkedUser();
  const other = await linkedUser();
  const manager = await createUserWithToken(app, { policies: [await policyWith(app, everyPermission)] });
  await assertUnchanged(t, app, 'refused requests', async () => {
    for (const [who, headers, code] of [
      ['no credential', {}, 'INVALID_CREDENTIALS'],
      ['the user', user.headers, 'FORBIDDEN'],
      ['another user', other.headers, 'FORBIDDEN'],
      ['a user with all permissions', manager.headers, 'FORBIDDEN'],
    ] as const) {
      refused(t, await listOf(user.id, headers), code, `${who}: list`);
      refused(t, await unlinkOf(user.id, user.identity, headers), code, `${who}: unlink`);
    }
    for (const id of [randomUUID(), user.identity, 'x', '%00', 'null', '1'])
      refused(t, await listOf(id), 'FORBIDDEN', `list: no such user: ${id}`);
    for (const [id, identity] of [
      [user.id, other.identity],
      [user.id, other.identity.toUpperCase()],
      [user.id, user.id],
      [user.id, randomUUID()],
      [user.id, 'x'],
      [user.id, '%00'],
      [randomUUID(), user.identity],
      ['x', user.identity],
    ] as const)
      refused(t, await unlinkOf(id, identity), 'FORBIDDEN', `${id} ${identity}`);
  });
});

t.test("a user's only way to log in cannot be unlinked: an administrator first sets a password", async (t) => {
  const ways: [what: string, columns: NewUser, isPrimary: boolean][] = [
    ['no password, a user of the provider', { password: null }, true],
    ['no password', { password: null }, false],
  ];
  for (const [what, columns, isPrimary] of ways) {
    const { id, email, identity } = await linkedUser(columns, isPrimary);
    await assertUnchanged(t, app, what, async () => {
      const response = await unlinkOf(id, identity);
      refused(t, response, 'UNPROCESSABLE_CONTENT', what);
      t.match(response.json().errors[0].extensions.reason, 'Set a password for the user first.', what);
    });
    const password = 'a password that the administrator sets';
    const set = await request({ method: 'PATCH', url: `/users/${id}`, payload: { password }, headers: asAdmin });
    t.equal(set.statusCode, 200, what);
    t.equal((await unlinkOf(id, identity)).statusCode, 204, what);
    t.match(await storedUser(app, id), { provider: 'default', externalIdentifier: null }, what);
    t.equal((await post('/auth/login', { email, password })).statusCode, 200, what);
  }
  const withPasskey = await linkedUser({ password: null }, true);
  await addPasskeyTo(service, withPasskey.id);
  t.equal((await unlinkOf(withPasskey.id, withPasskey.identity)).statusCode, 204, 'with a passkey');

  const withTwo = await linkedUser({ password: null }, true);
  const second = await link(withTwo.id, 'beta');
  const unlinked = await Promise.all([withTwo.identity, second].map((identity) => unlinkOf(withTwo.id, identity)));
  t.strictSame(unlinked.map(({ statusCode }) => statusCode).sort(), [204, 422], 'two at the same time');
  const [left] = await identitiesOf(app, withTwo.id);
  t.match(left, { isPrimary: true });
  t.match(await storedUser(app, withTwo.id), { provider: left?.provider, externalIdentifier: left?.identifier });
});

t.test('unlinking an account of an administrator requires a fresh session', async (t) => {
  const ada = await createUser(app, { policies: [administration] });
  const bob = await createUserWithToken(app, { policies: [administration] });
  const [first, second, own] = [await link(ada.id), await link(ada.id), await link(bob.id)];
  const stale = await openSession(app, bob.id);
  const fresh = await openSession(app, bob.id);
  await makeStale(app, bob.id);
  const user = await linkedUser();
  refused(t, await unlinkOf(ada.id, first, stale), 'REAUTHENTICATION_REQUIRED', 'a stale session');
  refused(t, await unlinkOf(ada.id.toUpperCase(), first, stale), 'REAUTHENTICATION_REQUIRED', 'in upper case');
  refused(t, await unlinkOf(bob.id, own, stale), 'REAUTHENTICATION_REQUIRED', 'their own');
  refused(t, await unlinkOf(bob.id, own, bob.headers), 'FORBIDDEN', 'their own, with a static token');
  t.equal((await unlinkOf(user.id, user.identity, stale)).statusCode, 204, 'a user who is not an administrator');
  t.equal((await unlinkOf(ada.id, first, bob.headers)).statusCode, 204, 'a program');
  t.equal((await post('/auth/reauthenticate', { password: bob.password }, fresh)).statusCode, 204);
  t.equal((await unlinkOf(ada.id, second, fresh)).statusCode, 204, 'a fresh session');
  t.equal((await unlinkOf(bob.id.toUpperCase(), own, fresh)).statusCode, 204, 'their own');
  t.equal((await get('/users/me', fresh)).statusCode, 200, 'which keeps the session');
});
