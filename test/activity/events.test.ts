import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { saveGrant } from '../../db/queries/applications/grants.js';
import { identities } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { recorded } from '../helpers/database/activity.js';
import { schemas } from '../helpers/database/databases.js';
import { setCookies } from '../helpers/http/cookies.js';
import { adminToken, asAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { apiDocument } from '../helpers/openapi/document.js';
import { configOf } from '../helpers/openapi/operations.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { begin, completeLogin, createVisitor, followRedirect, startPath } from '../helpers/providers/visitor.js';
import { bearer, startTestApp, type TestApp } from '../helpers/service/app.js';
import { createAuthenticator } from '../helpers/users/authenticator.js';
import { addPasskey, creationOptions, signIn } from '../helpers/users/passkeys.js';
import { createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUser, createUserWithToken } from '../helpers/users/users.js';

/** What each operation that changes something records in the audit log when it succeeds, and when it is denied. */

const publicUrl = 'http://localhost';
const server = await startOauth2Server(t, { publicUrl, keys: ['alpha', 'beta'] });
const service: TestApp = await startTestApp(t, {
  ADMIN_TOKEN: adminToken,
  PUBLIC_URL: publicUrl,
  REGISTRATION_ANSWER_TIME: '5ms',
  AUTH_PROVIDERS: 'alpha,beta',
  ...server.variables('alpha', { ALLOW_PUBLIC_REGISTRATION: 'true' }),
  ...server.variables('beta', { ALLOW_PUBLIC_REGISTRATION: 'true', RESPONSE_MODE: 'form_post' }),
});
const { app, get, post, request } = service;
const send = (method: 'PATCH' | 'DELETE' | 'POST', url: string, payload: object = {}, headers = asAdmin) =>
  request({ method, url, payload, headers });

const { data: me } = (await get('/users/me?fields=id', asAdmin)).json();
await send('PATCH', '/settings', { public_registration: true });
const ownRights = await policyWith(
  app,
  [{ collection: 'users', action: 'update', fields: ['*'], permissions: { id: { _eq: '$CURRENT_USER' } } }],
  { appAccess: true },
);

interface Expected {
  action: string;
  user: string | null;
  collection: string;
  item: string | number | null;
  changed?: string[] | null;
}

interface Done {
  response: LightMyRequestResponse;
  rows: Expected[];
}

const byAdmin = (
  action: string,
  collection: string,
  item: string | number | null,
  changed: string[] | null = null,
) => ({
  action,
  user: me.id,
  collection,
  item,
  changed,
});
const byThemselves = (action: string, user: string, collection = 'users', item: string = user) => ({
  action,
  user,
  collection,
  item,
  changed: null,
});

/** Lets a user give an application access. @returns the ID of the grant */
async function grantOf(user: string): Promise<string> {
  const consent = { user, client: 'https://app.example.com/client.json', registeredClient: null, clientName: 'App' };
  const { id } = await saveGrant(app.db, { ...consent, scopes: ['openid'], resources: {}, digest: null }, new Date());
  return id;
}

const newEmail = () => `${randomUUID()}@example.com`;
const goodPassword = 'a password that is long enough';

/** Creates a user with a session. */
async function signedIn() {
  const user = await createUser(app, { policies: [ownRights] });
  const login = await post('/auth/login', { email: user.email, password: user.password });
  const { access_token: access, refresh_token: refresh } = login.json().data;
  const { session } = JSON.parse(Buffer.from(access.split('.')[1], 'base64url').toString());
  return { ...user, login, refresh, session: String(session), headers: bearer(access) };
}

let accounts = 0;

/** Makes the provider return a new identity from now on. */
const newcomer = () => {
  accounts++;
  server.profile = { id: `octo-${accounts}`, name: 'Mona', email: `octo-${accounts}@example.com` };
};

/** The write operations that every collection has. */
function ofCollection(
  collection: 'users' | 'roles' | 'policies' | 'permissions' | 'clients' | 'resources',
  valid: () => Record<string, unknown>,
  change: Record<string, unknown>,
) {
  const root = `/${collection}`;
  const make = async (): Promise<string | number> => (await send('POST', root, valid())).json().data.id;
  const fields = Object.keys(valid());
  const changed = Object.keys(change);
  return {
    create: async (): Promise<Done> => {
      const response = await send('POST', root, [valid(), valid()]);
      const ids: string[] = response.json().data.map(({ id }: { id: string }) => id);
      return { response, rows: ids.map((id) => byAdmin('create', collection, id, fields)) };
    },
    updateMany: async (): Promise<Done> => {
      const keys = [await make(), await make()];
      const response = await send('PATCH', root, { keys, data: change });
      return { response, rows: keys.map((id) => byAdmin('update', collection, id, changed)) };
    },
    removeMany: async (): Promise<Done> => {
      const keys = [await make(), await make()];
      const response = await send('DELETE', root, { keys });
      return { response, rows: keys.map((id) => byAdmin('delete', collection, id)) };
    },
    update: async (): Promise<Done> => {
      const id = await make();
      return {
        response: await send('PATCH', `${root}/${id}`, change),
        rows: [byAdmin('update', collection, id, changed)],
      };
    },
    remove: async (): Promise<Done> => {
      const id = await make();
      return { response: await send('DELETE', `${root}/${id}`), rows: [byAdmin('delete', collection, id)] };
    },
  };
}

const policy = await createPolicy(app);
const users = ofCollection('users', () => ({ email: newEmail(), password: goodPassword }), {
  title: 'Dr.',
  token: null,
});
const roles = ofCollection('roles', () => ({ name: 'A role' }), { name: 'Another', policies: [policy] });
const policies = ofCollection('policies', () => ({ name: 'A policy' }), { name: 'Another', admin_access: false });
const permissions = ofCollection('permissions', () => ({ policy, collection: 'users', action: 'read' }), {
  fields: ['id'],
});

const newClient = { name: 'A client', type: 'public', redirect_uris: ['https://app.example.com/callback'] };
const clients = ofCollection('clients', () => newClient, { name: 'Another' });
const resources = ofCollection('resources', () => ({ name: 'An API', identifier: `urn:uuid:${randomUUID()}` }), {
  name: 'Another',
});

async function loginByProvider(family: 'login' | 'oauth'): Promise<Done> {
  newcomer();
  return registration(await completeLogin(createVisitor(service, publicUrl), 'alpha', { family }, followRedirect));
}

/** The same, with a provider that returns the browser with a form. */
async function submitByProvider(family: 'login' | 'oauth'): Promise<Done> {
  newcomer();
  const start = await get(startPath('beta', { family }));
  const cookie = Object.entries(setCookies(start)).map(([name, { value }]) => `${name}=${value}`);
  const { searchParams } = new URL(await followRedirect(String(start.headers.location)));
  const response = await request({
    method: 'POST',
    url: `/auth/${family}/beta/callback`,
    payload: String(searchParams),
    headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: cookie.join('; ') },
  });
  return registration(response);
}

async function registration(response: LightMyRequestResponse): Promise<Done> {
  const [, login] = await recorded(app, response.headers['x-request-id']);
  const user = login?.user ?? '';
  return { response, rows: [byThemselves('register', user), byThemselves('login', user)] };
}

/** Each recorded operation, carried out successfully. */
const done: Record<string, () => Promise<Done>> = {
  login: async () => {
    const { id, login } = await signedIn();
    return { response: login, rows: [byThemselves('login', id)] };
  },
  logout: async () => {
    const { id, session, refresh } = await signedIn();
    const response = await post('/auth/logout', { refresh_token: refresh });
    return { response, rows: [byThemselves('logout', id, 'sessions', session)] };
  },
  requestPasswordReset: async () => {
    const response = await post('/auth/password/request', { email: newEmail() });
    const row = { action: 'password_reset_request', user: null, collection: 'users', item: null, changed: null };
    return { response, rows: [row] };
  },
  requestEmailLogin: async () => {
    await send('PATCH', '/settings', { email_login: true });
    const response = await post('/auth/email/request', { email: newEmail() });
    const row = { action: 'email_login_request', user: null, collection: 'users', item: null, changed: null };
    return { response, rows: [row] };
  },
  loginWithEmail: async () => {
    await send('PATCH', '/settings', { email_login: true });
    const { id, email } = await createUser(app);
    await post('/auth/email/request', { email });
    const response = await post('/auth/email', { token: await tokenFor(app, email) });
    return { response, rows: [byThemselves('login', id)] };
  },
  loginWithPasskey: async () => {
    const { id, headers } = await signedIn();
    const passkey = await addPasskey(service, headers);
    return { response: await signIn(service, passkey), rows: [byThemselves('login', id)] };
  },
  addPasskey: async () => {
    const { id, headers } = await signedIn();
    const authenticator = createAuthenticator({ origin: publicUrl, rpId: 'localhost' });
    const credential = authenticator.create(await creationOptions(service, headers));
    const response = await post('/users/me/passkeys', { credential }, headers);
    return { response, rows: [byThemselves('passkey_add', id, 'passkeys', response.json().data.id)] };
  },
  renamePasskey: async () => {
    const { id, headers } = await signedIn();
    const passkey = await addPasskey(service, headers);
    const response = await send('PATCH', `/users/me/passkeys/${passkey.id}`, { name: 'Phone' }, headers);
    return { response, rows: [{ ...byThemselves('update', id, 'passkeys', passkey.id), changed: ['name'] }] };
  },
  removePasskey: async () => {
    const { id, headers } = await signedIn();
    const passkey = await addPasskey(service, headers);
    const response = await request({ method: 'DELETE', url: `/users/me/passkeys/${passkey.id}`, headers });
    return { response, rows: [byThemselves('passkey_remove', id, 'passkeys', passkey.id)] };
  },
  withdrawMyGrant: async () => {
    const { id, headers } = await signedIn();
    const grant = await grantOf(id);
    const response = await request({ method: 'DELETE', url: `/users/me/grants/${grant}`, headers });
    return { response, rows: [byThemselves('application_withdraw', id, 'grants', grant)] };
  },
  withdrawGrantOfUser: async () => {
    const { id } = await signedIn();
    const grant = await grantOf(id);
    const response = await request({ method: 'DELETE', url: `/users/${id}/grants/${grant}`, headers: asAdmin });
    return { response, rows: [byAdmin('application_withdraw', 'grants', grant)] };
  },
  removePasskeyOfUser: async () => {
    const { id, headers } = await signedIn();
    const passkey = await addPasskey(service, headers);
    const response = await request({ method: 'DELETE', url: `/users/${id}/passkeys/${passkey.id}`, headers: asAdmin });
    return { response, rows: [byAdmin('passkey_remove', 'passkeys', passkey.id)] };
  },
  resetPassword: async () => {
    const { id, email } = await createUser(app);
    await post('/auth/password/request', { email });
    const response = await post('/auth/password/reset', { token: await tokenFor(app, email), password: goodPassword });
    return { response, rows: [byThemselves('password_reset', id)] };
  },
  endMySession: async () => {
    const { id, session, headers } = await signedIn();
    const response = await send('DELETE', `/users/me/sessions/${session}`, {}, headers);
    return { response, rows: [byThemselves('session_end', id, 'sessions', session)] };
  },
  endMyOtherSessions: async () => {
    const { id, headers } = await signedIn();
    const response = await send('DELETE', '/users/me/sessions', {}, headers);
    return { response, rows: [byThemselves('session_end', id)] };
  },
  endSessionOfUser: async () => {
    const { id, session } = await signedIn();
    const response = await send('DELETE', `/users/${id}/sessions/${session}`);
    return { response, rows: [byAdmin('session_end', 'users', id)] };
  },
  endSessionsOfUser: async () => {
    const { id } = await signedIn();
    return { response: await send('DELETE', `/users/${id}/sessions`), rows: [byAdmin('session_end', 'users', id)] };
  },
  finishOAuthLogin: () => loginByProvider('oauth'),
  finishProviderLogin: () => loginByProvider('login'),
  submitOAuthLogin: () => submitByProvider('oauth'),
  submitProviderLogin: () => submitByProvider('login'),
  completeProviderLogin: async () => {
    newcomer();
    const first = await completeLogin(createVisitor(service, publicUrl), 'alpha', { family: 'oauth' }, followRedirect);
    const [, login] = await recorded(app, first.headers['x-request-id']);
    const id = login?.user ?? '';
    await app.db.execute(
      sql`update users set tfa_secret = ${app.tfaSecrets.seal(rfcSecret.base32, id)} where id = ${id}::uuid`,
    );
    const visitor = createVisitor(service, publicUrl);
    await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect);
    const payload = { otp: codeOfStep(nextStep(service)) };
    const response = await visitor.send({ method: 'POST', url: '/auth/login/alpha', payload });
    return { response, rows: [byThemselves('login', id)] };
  },
  unlinkIdentity: async () => {
    newcomer();
    const { id, email, password } = await createUser(app);
    const visitor = createVisitor(service, publicUrl);
    await visitor.send({ method: 'POST', url: '/auth/login', payload: { email, password, mode: 'session' } });
    const linked = await completeLogin(visitor, 'alpha', { link: true }, followRedirect);
    const [identity] = (await visitor.visit('/users/me/identities')).json().data;
    t.match(await recorded(app, linked.headers['x-request-id']), [
      { ...byThemselves('identity_link', id, 'identities', identity.id), outcome: 'success' },
    ]);
    const response = await visitor.send({ method: 'DELETE', url: `/users/me/identities/${identity.id}` });
    return { response, rows: [byThemselves('identity_unlink', id, 'identities', identity.id)] };
  },
  unlinkIdentityOfUser: async () => {
    const { id } = await createUser(app);
    const row = { user: id, provider: 'alpha', identifier: id, createdAt: app.clock() };
    const [identity] = await app.db.insert(identities).values(row).returning({ id: identities.id });
    const response = await send('DELETE', `/users/${id}/identities/${identity?.id}`);
    return { response, rows: [byAdmin('identity_unlink', 'identities', identity?.id ?? '')] };
  },
  updateProfile: async () => {
    const { id, headers } = await signedIn();
    const response = await send('PATCH', '/users/me/profile', { first_name: 'Ada' }, headers);
    return { response, rows: [{ ...byThemselves('update', id), changed: ['first_name'] }] };
  },
  requestEmailChange: async () => {
    const { id, headers } = await signedIn();
    const response = await send('POST', '/users/me/email', { email: newEmail() }, headers);
    return { response, rows: [byThemselves('email_change_request', id)] };
  },
  confirmEmailChange: async () => {
    const { id, headers } = await signedIn();
    const email = newEmail();
    await send('POST', '/users/me/email', { email }, headers);
    const response = await post('/users/me/email/confirm', { token: await tokenFor(app, email) });
    return { response, rows: [{ ...byThemselves('email_change', id), changed: ['email'] }] };
  },
  cancelEmailChange: async () => {
    const { id, headers } = await signedIn();
    await send('POST', '/users/me/email', { email: newEmail() }, headers);
    const response = await request({ method: 'DELETE', url: '/users/me/email', headers });
    return { response, rows: [byThemselves('email_change_cancel', id)] };
  },
  cancelEmailChangeByLink: async () => {
    const { id, email, headers } = await signedIn();
    await send('POST', '/users/me/email', { email: newEmail() }, headers);
    const response = await post('/users/me/email/cancel', { token: await tokenFor(app, email) });
    return { response, rows: [byThemselves('email_change_cancel', id)] };
  },
  exportAccount: async () => {
    const { id, headers } = await signedIn();
    return { response: await get('/users/me/export', headers), rows: [byThemselves('export', id)] };
  },
  deleteMe: async () => {
    await send('PATCH', '/settings', { self_deletion: true });
    const { id, headers } = await signedIn();
    const response = await request({ method: 'DELETE', url: '/users/me', headers });
    return { response, rows: [byThemselves('delete', id)] };
  },
  updateMe: async () => {
    const { id, headers } = await signedIn();
    const response = await send(
      'PATCH',
      '/users/me',
      { password: 'a new password, quite long', title: 'Dr.' },
      headers,
    );
    return { response, rows: [{ ...byThemselves('password_change', id), changed: ['password', 'title'] }] };
  },
  changeMyPassword: async () => {
    const { id, headers } = await createSignedInUser(service);
    const response = await post('/users/me/password', { password: 'a new password, quite long' }, headers);
    return { response, rows: [{ ...byThemselves('password_change', id), changed: ['password'] }] };
  },
  createUsers: users.create,
  updateUsers: users.updateMany,
  deleteUsers: users.removeMany,
  updateUser: users.update,
  deleteUser: users.remove,
  invite: async () => {
    const role = await createRole(app);
    const [one, other] = [newEmail(), newEmail()];
    const response = await send('POST', '/users/invite', { email: [one, other, 'admin@example.com'], role });
    const made = await rows<{ id: string }>(
      app.db,
      sql`select id from users where email in (${one}, ${other}) order by email`,
    );
    const changed = ['email', 'role', 'status'];
    return { response, rows: made.map(({ id }) => byAdmin('invite', 'users', id, changed)) };
  },
  acceptInvite: async () => {
    const email = newEmail();
    await send('POST', '/users/invite', { email, role: await createRole(app) });
    const response = await post('/users/invite/accept', { token: await tokenFor(app, email), password: goodPassword });
    const [user] = await rows<{ id: string }>(app.db, sql`select id from users where email = ${email}`);
    return { response, rows: [byThemselves('invite_accept', user?.id ?? '')] };
  },
  reauthenticate: async () => {
    const { id, password, headers } = await createSignedInUser(service);
    return {
      response: await post('/auth/reauthenticate', { password }, headers),
      rows: [byThemselves('reauthenticate', id)],
    };
  },
  generateTfaSecret: async () => {
    const { id, password, generate } = await createSignedInUser(service);
    return { response: await generate({ password }), rows: [byThemselves('tfa_generate', id)] };
  },
  enableTfa: async () => {
    const { id, enable } = await createSignedInUser(service, { policies: [ownRights] });
    const response = await enable({ secret: rfcSecret.base32, otp: codeOfStep(nextStep(service)) });
    return { response, rows: [byThemselves('tfa_enable', id)] };
  },
  disableTfa: async () => {
    const { id, disable } = await createSignedInUser(service, { tfa: true, policies: [ownRights] });
    const response = await disable({ otp: codeOfStep(nextStep(service)) });
    return { response, rows: [byThemselves('tfa_disable', id)] };
  },
  createRecoveryCodes: async () => {
    const { id, password, renewCodes, login } = await createSignedInUser(service, { tfa: true, policies: [ownRights] });
    const response = await renewCodes({ password });
    const [code] = response.json().data;
    const used = await login(code);
    t.match(await recorded(app, used.headers['x-request-id']), [
      { ...byThemselves('login', id) },
      { ...byThemselves('recovery_code_used', id) },
    ]);
    return { response, rows: [byThemselves('recovery_codes', id)] };
  },
  unlockUser: async () => {
    const { id } = await createUser(app);
    return { response: await send('POST', `/users/${id}/unlock`), rows: [byAdmin('unlock', 'users', id)] };
  },
  disableTfaOfUser: async () => {
    const { id } = await createSignedInUser(service, { tfa: true });
    return { response: await send('POST', `/users/${id}/tfa/disable`), rows: [byAdmin('tfa_disable', 'users', id)] };
  },
  register: async () => {
    const email = newEmail();
    const response = await post('/users/register', { email, password: goodPassword });
    const [user] = await rows<{ id: string }>(app.db, sql`select id from users where email = ${email}`);
    return { response, rows: [{ action: 'register', user: null, collection: 'users', item: user?.id ?? '' }] };
  },
  verifyEmail: async () => {
    const email = newEmail();
    await post('/users/register', { email, password: goodPassword });
    const [user] = await rows<{ id: string }>(app.db, sql`select id from users where email = ${email}`);
    const response = await get(`/users/register/verify-email?token=${await tokenFor(app, email)}`);
    return { response, rows: [byThemselves('email_verified', user?.id ?? '')] };
  },
  confirmEmail: async () => {
    const email = newEmail();
    await post('/users/register', { email, password: goodPassword });
    const [user] = await rows<{ id: string }>(app.db, sql`select id from users where email = ${email}`);
    const token = await tokenFor(app, email);
    const response = await post('/users/register/verify-email', { token, password: goodPassword });
    return { response, rows: [byThemselves('email_verified', user?.id ?? '')] };
  },
  resendVerification: async () => {
    const response = await post('/users/register/resend', { email: newEmail() });
    return { response, rows: [{ action: 'verification_resend', user: null, collection: 'users', item: null }] };
  },
  retryMail: async () => {
    await post('/auth/password/request', { email: newEmail() });
    const [job] = await rows<{ id: string }>(
      app.db,
      sql`update ${sql.raw(schemas.queue)}.job set state = 'failed' where id = (select id from ${sql.raw(schemas.queue)}.job where state = 'created' limit 1) returning id`,
    );
    const id = job?.id ?? '';
    return { response: await send('POST', `/mails/${id}/retry`), rows: [byAdmin('mail_retry', 'mails', id)] };
  },
  createRoles: roles.create,
  updateRoles: roles.updateMany,
  deleteRoles: roles.removeMany,
  updateRole: roles.update,
  deleteRole: roles.remove,
  createPolicies: policies.create,
  updatePolicies: policies.updateMany,
  deletePolicies: policies.removeMany,
  updatePolicy: policies.update,
  deletePolicy: policies.remove,
  createClients: clients.create,
  updateClients: clients.updateMany,
  deleteClients: clients.removeMany,
  updateClient: clients.update,
  deleteClient: clients.remove,
  createClientSecret: async () => {
    const created = await send('POST', '/clients', { ...newClient, type: 'confidential' });
    const { id } = created.json().data;
    const response = await send('POST', `/clients/${id}/secret`);
    return { response, rows: [byAdmin('secret_create', 'clients', id)] };
  },
  createResources: resources.create,
  updateResources: resources.updateMany,
  deleteResources: resources.removeMany,
  updateResource: resources.update,
  deleteResource: resources.remove,
  createPermissions: permissions.create,
  updatePermissions: permissions.updateMany,
  deletePermissions: permissions.removeMany,
  updatePermission: permissions.update,
  deletePermission: permissions.remove,
  updateSettings: async () => {
    const response = await send('PATCH', '/settings', { project_name: 'Here', project_color: '#fff' });
    return { response, rows: [byAdmin('update', 'settings', null, ['project_name', 'project_color'])] };
  },
};

/** The operations in the document that change something. */
const changing = Object.values(apiDocument().paths)
  .flatMap((methods) => Object.entries(methods))
  .filter(([method]) => !['get', 'head', 'x-search'].includes(method))
  .map(([, { operationId }]) => operationId);

t.test('every operation that changes something is recorded, or declares why it is not', async (t) => {
  const configs = [...app.operations].map(([name, { config }]) => ({ name, ...config }));
  const recorded = configs.filter(({ recordedAs }) => recordedAs).map(({ name }) => name);
  const unrecorded = configs.filter(({ notRecorded }) => notRecorded).map(({ name }) => name);
  const silent = changing.filter((name) => !Object.hasOwn(done, name) && !unrecorded.includes(name));
  t.strictSame(silent, [], 'this test covers each of them');
  t.strictSame(Object.keys(done).sort(), recorded.sort(), 'and each operation that declares recordedAs');
  t.ok(changing.length > 35);
});

for (const [operation, work] of Object.entries(done)) {
  t.test(`${operation}: success is recorded`, async (t) => {
    const { response, rows: expected } = await work();
    t.ok([200, 204, 302].includes(response.statusCode), `${response.statusCode} ${response.body}`);
    const requestId = response.headers['x-request-id'];
    const found = await recorded(app, requestId);
    const order = (a: { item?: unknown }, b: { item?: unknown }) => (String(a.item) < String(b.item) ? -1 : 1);
    t.match(
      found.toSorted(order),
      expected.map((row) => ({ ...row, item: row.item === null ? null : String(row.item) })).toSorted(order),
    );
    t.equal(found.length, expected.length, 'and no other rows');
    const [main] = configOf(app, operation).recordedAs ?? [];
    const known = operation === 'updateMe' ? 'password_change' : main;
    t.ok(
      found.some(({ action }) => action === known),
      `as ${known}`,
    );
    for (const row of found) {
      t.match(row, { outcome: 'success', code: null, ip: '127.0.0.1', requestId });
      t.ok(Math.abs(row.timestamp.getTime() - app.clock().getTime()) < 120_000, 'a current timestamp');
    }
  });
}

t.test('a signed-in user who requests a link to reset a password is recorded', async (t) => {
  const { headers } = await post('/auth/password/request', { email: newEmail() }, asAdmin);
  t.match(await recorded(app, headers['x-request-id']), [
    { action: 'password_reset_request', user: me.id, item: null },
  ]);
});

t.test('a request that changes nothing is not recorded', async (t) => {
  const { id, email } = await createUser(app);
  for (const [what, response] of [
    ['an empty change', await send('PATCH', `/users/${id}`, {})],
    ['the same address', await send('PATCH', `/users/${id}`, { email })],
    ['no settings', await send('PATCH', '/settings', {})],
    ['no users', await send('DELETE', '/users', [])],
    [
      'the last page',
      await request({ method: 'PATCH', url: '/users/me/track/page', payload: { last_page: '/x' }, headers: asAdmin }),
    ],
    ['an unknown session', await post('/auth/logout', { refresh_token: 'x'.repeat(64) })],
    ['an invitation of an existing user', await send('POST', '/users/invite', { email, role: await createRole(app) })],
    ['a refresh', await post('/auth/refresh', { refresh_token: (await signedIn()).refresh })],
  ] as const) {
    t.ok(response.statusCode < 300, `${what}: ${response.body}`);
    t.strictSame(await recorded(app, response.headers['x-request-id']), [], what);
  }
});

t.test('a change that is rolled back is not recorded', async (t) => {
  const last = await send('PATCH', `/users/${me.id}`, { status: 'suspended' });
  t.match(await recorded(app, last.headers['x-request-id']), [
    { action: 'update', outcome: 'failure', code: 'UNPROCESSABLE_CONTENT', user: me.id, item: me.id, changed: null },
  ]);
  const taken = await send('POST', '/users', [
    { email: newEmail(), password: goodPassword },
    { email: 'ADMIN@example.com', password: goodPassword },
  ]);
  t.equal(taken.statusCode, 400);
  t.strictSame(await recorded(app, taken.headers['x-request-id']), [], 'an invalid request is not recorded');
});

t.test('reuse of a replaced refresh token is recorded once', async (t) => {
  const { session, refresh } = await signedIn();
  await post('/auth/refresh', { refresh_token: refresh });
  service.clock.advance(60_000);
  const reused = await post('/auth/refresh', { refresh_token: refresh });
  t.equal(reused.statusCode, 401);
  t.match(await recorded(app, reused.headers['x-request-id']), [
    { action: 'refresh_reused', outcome: 'success', user: null, collection: 'sessions', item: session },
  ]);
  const again = await post('/auth/refresh', { refresh_token: refresh });
  t.strictSame(await recorded(app, again.headers['x-request-id']), [], 'not a second time');
});

t.test('a denied request is recorded, whatever the operation', async (t) => {
  const stranger = await createUserWithToken(app);
  const target = randomUUID();
  let refusals = 0;
  for (const [path, methods] of Object.entries(apiDocument().paths)) {
    for (const [method, { operationId }] of Object.entries(methods)) {
      const as = configOf(app, operationId).recordedAs;
      if (!as || path.includes('{provider}')) continue;
      const url = path.replaceAll(/\{\w+\}/g, target);
      const response = await request({
        method: method.toUpperCase() as 'POST',
        url,
        headers: stranger.headers,
        ...(method === 'get' ? {} : { payload: operationId === 'invite' ? { email: newEmail(), role: target } : {} }),
      });
      const found = await recorded(app, response.headers['x-request-id']);
      const isRefused = [401, 403, 422].includes(response.statusCode);
      const failures = found.filter(({ outcome }) => outcome === 'failure');
      t.equal(failures.length, isRefused ? 1 : 0, `${operationId} ${response.statusCode}`);
      if (!isRefused) continue;
      refusals++;
      const [action, collection] = as;
      const { code } = response.json().errors[0].extensions;
      const item = path.includes('{id}') ? target : undefined;
      t.match(failures[0], { action, collection, code, user: stranger.id, changed: null }, operationId);
      if (item) t.equal(failures[0]?.item, item, operationId);
    }
  }
  t.ok(refusals > 20, `${refusals} denied requests`);
});

t.test('a denied provider login is recorded, with and without a redirect', async (t) => {
  newcomer();
  const visitor = createVisitor(service, publicUrl);
  await completeLogin(visitor, 'alpha', { family: 'oauth' }, followRedirect);
  const { data } = (await get('/users?fields=id&sort=-last_access&filter[provider]=alpha', asAdmin)).json();
  const known = data[0].id;
  await send('PATCH', `/users/${known}`, { status: 'suspended' });
  for (const start of [{ family: 'oauth' as const }, { redirect: `${publicUrl}/account/login` }]) {
    const response = await completeLogin(visitor, 'alpha', start, followRedirect);
    t.match(
      await recorded(app, response.headers['x-request-id']),
      [{ action: 'login', outcome: 'failure', code: 'INVALID_CREDENTIALS', user: null, item: known }],
      String(response.statusCode),
    );
  }
  await begin(visitor, 'alpha', { family: 'oauth' });
  const forged = await visitor.visit(`${startPath('alpha', { family: 'oauth' })}/callback?state=x&code=y`);
  t.match(await recorded(app, forged.headers['x-request-id']), [{ action: 'login', outcome: 'failure', item: null }]);
});
