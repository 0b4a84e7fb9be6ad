import t from 'tap';
import { identities, knownNetworks, recoveryCodes } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { logIn } from '../helpers/users/sessions.js';
import { createUser, type NewUser, storedUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, clock, get, request } = service;
const asAdmin = (await logIn(service, 'json')).headers;
const send = (method: 'PATCH' | 'DELETE', url: string, headers: Record<string, string>, payload?: object) =>
  request({ method, url, headers, ...(payload ? { payload } : {}) });
const settle = async (settings: object) =>
  t.equal((await send('PATCH', '/settings', asAdmin, settings)).statusCode, 200);

/** Creates a user without any permission, and logs them in. */
async function newMember(values: NewUser = {}) {
  const user = await createUser(app, values);
  return { ...user, ...(await logIn(service, 'json', user)) };
}

const profileOf = async (headers: Record<string, string>) => (await get('/users/me/profile', headers)).json().data;

t.test('users without any permission can read their own profile', async (t) => {
  const role = await createRole(app);
  const member = await newMember({ role, firstName: 'Ada', emailVerifiedAt: clock.now() });
  t.strictSame((await get('/users/me', member.headers)).json().data, { id: member.id }, 'they may read nothing else');
  const { created_at, last_access, ...profile } = await profileOf(member.headers);
  t.strictSame(profile, {
    id: member.id,
    email: member.email,
    email_verified: true,
    pending_email: null,
    first_name: 'Ada',
    last_name: null,
    avatar: null,
    language: null,
    role: { id: role, name: `Role ${role}` },
    has_password: true,
    tfa_enabled: false,
    recovery_codes_left: 0,
    passkeys: 0,
    providers: [],
  });
  for (const time of [created_at, last_access]) t.match(time, /^\d{4}-.*\.\d{3}Z$/);
});

t.test('the profile lists the ways to log in', async (t) => {
  const { id } = await createUser(app, {
    tfa: true,
    password: null,
    provider: 'github',
    externalIdentifier: 'x',
    tokenHash: null,
  });
  for (const [provider, identifier] of [
    ['github', 'x'],
    ['google', 'y'],
    ['google', 'z'],
  ] as const) {
    await app.db.insert(identities).values({ user: id, provider, identifier, isPrimary: provider === 'github' });
  }
  await app.db.insert(recoveryCodes).values(['a', 'b'].map((hash) => ({ user: id, hash })));
  const token = 'a-static-token-of-a-user-of-a-provider';
  await send('PATCH', `/users/${id}`, asAdmin, { token });
  t.match(await profileOf(bearer(token)), {
    role: null,
    has_password: false,
    tfa_enabled: true,
    recovery_codes_left: 2,
    providers: ['github', 'google'],
    email_verified: false,
  });
});

t.test('users without any permission can change their profile', async (t) => {
  const member = await newMember();
  const patch = (payload: object) => send('PATCH', '/users/me/profile', member.headers, payload);
  const changes = { first_name: 'Ada', last_name: 'L.', language: 'de-DE', avatar: 'https://example.com/ada.png' };
  const response = await patch(changes);
  t.equal(response.statusCode, 200);
  t.match(response.json().data, { id: member.id, email: member.email, ...changes });
  t.match((await patch({})).json().data, changes, 'an empty update changes nothing');
  t.match((await patch({ avatar: null, last_name: null })).json().data, { ...changes, avatar: null, last_name: null });

  const before = await storedUser(app, member.id);
  for (const body of [
    { email: 'new@example.com' },
    { password: 'an entirely new password' },
    { role: null },
    { status: 'active' },
    { title: 'Dr' },
    { first_name: 7 },
    { avatar: 'http://example.com/a.png' },
    { avatar: 'javascript:alert(1)' },
    { avatar: 'b3b0c7ae-6f0f-4b9e-8d5a-0d3f2f1f6c11' },
    { avatar: '' },
    { avatar: 'https://' },
  ]) {
    refused(t, await patch({ first_name: 'Eve', ...body }), 'INVALID_PAYLOAD', JSON.stringify(body));
  }
  for (const [field, length] of Object.entries({ first_name: 50, last_name: 50, language: 255 })) {
    t.equal((await patch({ [field]: 'x'.repeat(length) })).statusCode, 200);
    refused(t, await patch({ [field]: 'x'.repeat(length + 1) }), 'VALUE_TOO_LONG', field);
  }
  refused(t, await patch({ avatar: `https://example.com/${'x'.repeat(255)}` }), 'VALUE_TOO_LONG', 'avatar');
  t.equal((await storedUser(app, member.id)).email, before.email);
});

t.test('an export contains all stored data, and no secret', async (t) => {
  const policy = await createPolicy(app);
  const token = 'a-static-token-that-must-not-be-in-an-export';
  const member = await newMember({
    firstName: 'Ada',
    token,
    policies: [policy],
    tags: ['a'],
    authData: { login: 'ada' },
  });
  await app.db.insert(identities).values({ user: member.id, provider: 'google', identifier: 'ada-at-google' });
  await app.db.insert(knownNetworks).values({ user: member.id, network: '192.0.2.7', lastLoginAt: clock.now() });
  await send('PATCH', '/users/me/profile', member.headers, { last_name: 'Lovelace' });
  const other = await newMember({ firstName: 'Eve' });
  await send('PATCH', `/users/${member.id}`, asAdmin, { title: 'Countess' });
  refused(t, await send('PATCH', `/users/${member.id}`, other.headers, { title: 'x' }), 'FORBIDDEN', 'another user');
  await service.post('/auth/login', { email: member.email, password: 'a wrong guess' });

  const response = await get('/users/me/export', member.headers);
  t.equal(response.statusCode, 200);
  const { user, identities: linked, sessions, known_networks: networks, activity, ...rest } = response.json().data;
  t.match(user, {
    id: member.id,
    email: member.email,
    first_name: 'Ada',
    last_name: 'Lovelace',
    tags: ['a'],
    auth_data: { login: 'ada' },
  });
  t.match(user, { has_password: true, has_token: true, tfa_enabled: false, policies: [{ id: policy }] });
  t.match(linked, [{ provider: 'google', external_identifier: 'ada-at-google' }]);
  t.match(sessions, [{ ip: '127.0.0.1' }]);
  t.ok(networks.some(({ network }: { network: string }) => network === '192.0.2.7'));
  t.strictSame(rest.known_devices, ['lightMyRequest']);
  const actions = activity.map(({ action }: { action: string }) => action);
  t.strictSame(
    actions,
    ['login', 'update', 'update', 'update', 'login'],
    'what they did and what was done to them, latest first',
  );
  t.match(
    activity.slice(0, 3),
    [
      { action: 'login', outcome: 'failure', ip: '127.0.0.1' },
      { outcome: 'failure', code: 'FORBIDDEN', ip: null, user_agent: null },
      { outcome: 'success', changed: ['title'], ip: null, user_agent: null },
    ],
    'the address of a refused sign-in, but not those of other users',
  );
  t.equal(rest.pending_email_change, null);
  const { password, tokenHash } = await storedUser(app, member.id);
  for (const secret of [password, tokenHash, token, other.id, other.email, member.accessToken, member.token]) {
    t.notOk(secret === null || response.body.includes(secret), 'no secret, and nothing of other users');
  }
});

t.test('users can delete their own account if the settings allow it', async (t) => {
  const member = await newMember();
  refused(t, await send('DELETE', '/users/me', member.headers), 'FORBIDDEN', 'disabled by default');
  refused(t, await send('DELETE', '/users/me', asAdmin), 'FORBIDDEN', 'also for administrators');
  await settle({ self_deletion: true });
  refused(t, await send('DELETE', '/users/me', asAdmin), 'UNPROCESSABLE_CONTENT', 'the last administrator');
  t.equal((await send('DELETE', '/users/me', member.headers)).statusCode, 204);
  refused(t, await get('/users/me', member.headers), 'INVALID_CREDENTIALS', 'deleted');
  refused(t, await service.post('/auth/login', member), 'INVALID_CREDENTIALS', 'deleted');
  const log = await get(`/activity?filter[user][_eq]=${member.id}&fields=action&sort=-id`, asAdmin);
  t.match(log.json().data, [{ action: 'delete' }], 'the audit log still contains their actions');

  const stale = await newMember();
  clock.advance(16 * 60_000);
  const { carrier } = stale;
  const refreshed = (await service.post('/auth/refresh', carrier.payload, carrier.headers)).json().data.access_token;
  refused(
    t,
    await send('DELETE', '/users/me', bearer(refreshed)),
    'REAUTHENTICATION_REQUIRED',
    'a session that is not fresh',
  );
  await settleAgain({ self_deletion: false });
});

async function settleAgain(settings: object) {
  const { headers } = await logIn(service, 'json');
  t.equal((await send('PATCH', '/settings', headers, settings)).statusCode, 200);
}

t.test('the self_service setting can disable these operations, except for administrators', async (t) => {
  await settleAgain({ self_service: false, self_deletion: true });
  const member = await newMember();
  const administrator = await logIn(service, 'json');
  const attempts = (headers: Record<string, string>) => [
    () => send('PATCH', '/users/me/profile', headers, { first_name: 'Ada' }),
    () => service.post('/users/me/email', { email: 'elsewhere@example.com' }, headers),
    () => get('/users/me/export', headers),
  ];
  for (const attempt of attempts(member.headers)) refused(t, await attempt(), 'FORBIDDEN', 'disabled');
  refused(t, await send('DELETE', '/users/me', member.headers), 'FORBIDDEN', 'disabled');
  t.equal((await get('/users/me/profile', member.headers)).statusCode, 200, 'reading is still allowed');
  t.equal((await send('DELETE', '/users/me/email', member.headers)).statusCode, 204, 'cancelling is still allowed');
  for (const attempt of attempts(administrator.headers)) t.match((await attempt()).statusCode, /200|204/);
  refused(
    t,
    await send('PATCH', '/users/me/profile', member.headers, { nonsense: 1 }),
    'FORBIDDEN',
    'rejected before the body is read',
  );
  await settleAgain({ self_service: true, self_deletion: false });
});

t.test('a static token can only read the profile', async (t) => {
  await settleAgain({ self_deletion: true });
  const token = 'a-static-token-of-a-program-of-a-user';
  const { id } = await createUser(app, { token });
  const headers = bearer(token);
  t.equal((await get('/users/me/profile', headers)).json().data.id, id);
  refused(t, await send('PATCH', '/users/me/profile', headers, { first_name: 'x' }), 'FORBIDDEN', 'profile');
  refused(t, await service.post('/users/me/email', { email: 'x@example.com' }, headers), 'FORBIDDEN', 'address');
  refused(t, await send('DELETE', '/users/me/email', headers), 'FORBIDDEN', 'cancel');
  refused(t, await get('/users/me/export', headers), 'FORBIDDEN', 'export');
  refused(t, await send('DELETE', '/users/me', headers), 'FORBIDDEN', 'deletion');
  for (const url of ['/users/me/profile', '/users/me/export']) refused(t, await get(url), 'INVALID_CREDENTIALS', url);
  await settleAgain({ self_deletion: false });
});

t.test('only administrators can change these settings', async (t) => {
  const { policyWith } = await import('../helpers/users/rights.js');
  const policy = await policyWith(app, [
    { collection: 'settings', action: 'update', fields: ['*'] },
    { collection: 'settings', action: 'read', fields: ['*'] },
  ]);
  const { headers } = await newMember({ policies: [policy] });
  for (const change of [{ self_service: false }, { self_deletion: true }]) {
    refused(t, await send('PATCH', '/settings', headers, change), 'FORBIDDEN', JSON.stringify(change));
  }
});
