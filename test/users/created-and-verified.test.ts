import t from 'tap';
import { settings } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { minute } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';
import { policyWith } from '../helpers/users/rights.js';
import { logIn } from '../helpers/users/sessions.js';
import { createUser, storedUser } from '../helpers/users/users.js';

const service = await startTestApp(t, { ACCESS_TOKEN_TTL: '1d' });
const { app, clock, post, get, request } = service;
const asAdmin = (await logIn(service, 'json')).headers;
const patch = (url: string, payload: object, headers = asAdmin) => request({ method: 'PATCH', url, payload, headers });
const ownToken = 'a-static-token-of-a-user-with-many-rights';
const password = 'a password that only I know';

/** Minutes since a user was created and since the address was verified, according to the service and its clock. */
async function timesOf(id: string) {
  const { created_at, email_verified_at } = (await get(`/users/${id}`, asAdmin)).json().data;
  const ago = (at: string | null) =>
    at === null ? null : Math.floor((clock.now().getTime() - Date.parse(at)) / minute);
  return { created: ago(created_at), verified: ago(email_verified_at) };
}

const idOf = async (email: string): Promise<string> => {
  const { data } = (await get(`/users?filter[email][_eq]=${encodeURIComponent(email)}`, asAdmin)).json();
  return data[0].id;
};

t.test('created_at is set once, from the clock of the service', async (t) => {
  clock.advance(30 * minute);
  const { id } = (await post('/users', { email: 'one@example.com', password }, asAdmin)).json().data;
  const many = (await post('/users', [{ email: 'two@example.com', password }], asAdmin)).json().data;
  clock.advance(5 * minute);
  await patch(`/users/${id}`, { title: 'Dr' });
  t.strictSame(await timesOf(id), { created: 5, verified: null });
  t.strictSame(await timesOf(many[0].id), { created: 5, verified: null });
});

t.test('no request can write created_at or email_verified_at, whatever the caller’s rights', async (t) => {
  const own = await createUser(app, {
    token: ownToken,
    policies: [
      await policyWith(app, [
        { collection: 'users', action: 'read', fields: ['*'] },
        { collection: 'users', action: 'update', fields: ['*'] },
        { collection: 'users', action: 'create', fields: ['*'] },
      ]),
    ],
  });
  const asOwn = bearer(ownToken);
  const timesNow = async () => {
    const { createdAt, emailVerifiedAt } = await storedUser(app, own.id);
    return { createdAt, emailVerifiedAt };
  };
  const before = await timesNow();
  for (const field of ['created_at', 'email_verified_at']) {
    for (const value of ['2020-01-01T00:00:00Z', null]) {
      const body = { [field]: value };
      for (const headers of [asAdmin, asOwn]) {
        const what = `${field}: ${value}`;
        refused(t, await patch('/users/me', body, headers), 'INVALID_PAYLOAD', what);
        refused(t, await patch(`/users/${own.id}`, body, headers), 'INVALID_PAYLOAD', what);
        refused(t, await patch('/users', { keys: [own.id], data: body }, headers), 'INVALID_PAYLOAD', what);
        refused(t, await patch('/users', [{ id: own.id, ...body }], headers), 'INVALID_PAYLOAD', what);
        const made = { email: 'three@example.com', password, ...body };
        refused(t, await post('/users', made, headers), 'INVALID_PAYLOAD', what);
        refused(t, await post('/users', [made], headers), 'INVALID_PAYLOAD', what);
      }
    }
  }
  t.strictSame(await timesNow(), before);
});

t.test('created_at and email_verified_at are sorted and filtered as times', async (t) => {
  const ids: string[] = [];
  for (const year of [2001, 2002, 2003]) {
    const createdAt = new Date(`${year}-06-01T00:00:00Z`);
    ids.push((await createUser(app, { createdAt, emailVerifiedAt: year === 2002 ? null : createdAt })).id);
  }
  const list = async (query: string): Promise<string[]> =>
    (await get(`/users?fields=id&${query}`, asAdmin)).json().data.map(({ id }: { id: string }) => id);
  const old = 'filter[created_at][_lt]=2010-01-01';
  t.strictSame(await list(`${old}&sort=-created_at`), ids.toReversed());
  t.strictSame(await list('filter[created_at][_between]=2001-12-31,2002-12-31'), [ids[1]]);
  t.strictSame(
    await list('filter={"_and":[{"created_at":{"_lt":"2010-01-01"}},{"email_verified_at":{"_null":true}}]}'),
    [ids[1]],
  );
  t.strictSame(await list('filter[email_verified_at][_lt]=2010-01-01&sort=email_verified_at'), [ids[0], ids[2]]);
});

t.test('an address is verified by an operation that requires access to its mailbox', async (t) => {
  await app.db.update(settings).set({ publicRegistration: true });
  await post('/users/register', { email: 'registered@example.com', password });
  const registered = await idOf('registered@example.com');
  const verification = await tokenFor(app, 'registered@example.com');
  clock.advance(3 * minute);
  t.strictSame(await timesOf(registered), { created: 3, verified: null });
  await get(`/users/register/verify-email?token=${verification}`);
  t.strictSame(await timesOf(registered), { created: 3, verified: 0 });

  const role = (await post('/roles', { name: 'Members' }, asAdmin)).json().data.id;
  await post('/users/invite', { email: 'invited@example.com', role }, asAdmin);
  const invited = await idOf('invited@example.com');
  clock.advance(2 * minute);
  t.strictSame(await timesOf(invited), { created: 2, verified: null });
  await post('/users/invite/accept', { token: await tokenFor(app, 'invited@example.com'), password });
  t.strictSame(await timesOf(invited), { created: 2, verified: 0 });

  const forgetful = await createUser(app, { createdAt: clock.now() });
  await post('/auth/password/request', { email: forgetful.email });
  clock.advance(minute);
  await post('/auth/password/reset', { token: await tokenFor(app, forgetful.email), password });
  t.strictSame(await timesOf(forgetful.id), { created: 1, verified: 0 });

  await patch('/settings', { public_registration_verify_email: false });
  await post('/users/register', { email: 'unasked@example.com', password });
  t.strictSame(
    await timesOf(await idOf('unasked@example.com')),
    { created: 0, verified: null },
    'the address is not verified',
  );
});

t.test('an address set by an administrator is not verified', async (t) => {
  const emailVerifiedAt = clock.now();
  const user = await createUser(app, { emailVerifiedAt });
  await patch(`/users/${user.id}`, { email: user.email, first_name: 'Ada' });
  t.strictSame((await storedUser(app, user.id)).emailVerifiedAt, emailVerifiedAt, 'the address is unchanged');
  await patch(`/users/${user.id}`, { email: 'elsewhere@example.com' });
  t.equal((await storedUser(app, user.id)).emailVerifiedAt, null);
  for (const many of [
    (id: string) => ({ keys: [id], data: { email: 'somewhere@example.com' } }),
    (id: string) => [{ id, email: 'anywhere@example.com' }],
  ]) {
    const other = await createUser(app, { emailVerifiedAt });
    t.equal((await patch('/users', many(other.id))).statusCode, 200);
    t.equal((await storedUser(app, other.id)).emailVerifiedAt, null);
  }
});

t.test('the service stores the time at which a static token was set', async (t) => {
  const token = 'a-static-token-that-is-as-long-as-they-must-be';
  const { id } = (await post('/users', { email: 'program@example.com', token }, asAdmin)).json().data;
  const set = (await storedUser(app, id)).tokenSetAt;
  t.ok(set && Math.abs(set.getTime() - clock.now().getTime()) < minute);
  clock.advance(10 * minute);
  await patch(`/users/${id}`, { token, title: 'the same token' });
  await patch(`/users/${id}`, { token: '**********' });
  t.strictSame((await storedUser(app, id)).tokenSetAt, set, 'setting the same token again does not change the time');
  await patch(`/users/${id}`, { token: `${token}-and-another-one` });
  t.ok(Number((await storedUser(app, id)).tokenSetAt) - Number(set) > 9 * minute);
  await patch(`/users/${id}`, { token: null });
  t.equal((await storedUser(app, id)).tokenSetAt, null);
});

t.test('the administrator created at the first start has created_at, like any other user', async (t) => {
  const { created } = await timesOf(await idOf(administrator.email));
  t.ok(created !== null);
});
