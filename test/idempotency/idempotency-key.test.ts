import { randomUUID } from 'node:crypto';
import { count, eq, sql } from 'drizzle-orm';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { permissions, storedResponses, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, remove, startWithAdmin } from '../helpers/http/writing.js';
import { createRole, policyWith } from '../helpers/users/rights.js';
import { changeUser, createUser, createUserWithToken, deleteUser } from '../helpers/users/users.js';

const service = await startWithAdmin(t);
const { app, clock, post, request } = service;

const day = 86_400_000;
const newUser = () => ({ email: `${randomUUID()}@example.com`, title: 'Analyst' });
const keyed = (key: string, headers: Record<string, string> = asAdmin) => ({ ...headers, 'idempotency-key': key });
const patch = (url: string, payload: object, headers: Record<string, string>) =>
  request({ method: 'PATCH', url, payload, headers });
const isReplay = ({ headers }: LightMyRequestResponse) => headers['idempotency-replayed'] === 'true';
const usersWith = async (email: string) =>
  (await app.db.select({ id: users.id }).from(users).where(eq(users.email, email))).length;
const stored = async (user?: string) =>
  (
    await app.db
      .select({ count: count() })
      .from(storedResponses)
      .where(user === undefined ? undefined : eq(storedResponses.user, user))
  )[0]?.count;

t.test('a repeated request gets the first response, and has no effect', async (t) => {
  const [key, body] = [randomUUID(), newUser()];
  const first = await post('/users', body, keyed(key));
  t.equal(first.statusCode, 200);
  t.notOk(isReplay(first));
  const again = await post('/users', body, keyed(key));
  t.ok(isReplay(again));
  t.equal(again.statusCode, 200);
  t.equal(again.body, first.body);
  t.equal(again.headers['content-type'], first.headers['content-type']);
  t.equal(await usersWith(body.email), 1);

  const { id } = first.json().data;
  const own = randomUUID();
  const updated = await patch(`/users/${id}?fields=title`, { title: 'first' }, keyed(own));
  await patch(`/users/${id}`, { title: 'second' }, asAdmin);
  const repeated = await patch(`/users/${id}?fields=title`, { title: 'first' }, keyed(own));
  t.ok(isReplay(repeated));
  t.equal(repeated.body, updated.body);
  t.equal((await service.get(`/users/${id}?fields=title`, asAdmin)).json().data.title, 'second');
});

t.test('a response without a body is repeated as such', async (t) => {
  const role = await createRole(app);
  const [key, email] = [randomUUID(), newUser().email];
  for (const expected of [false, true]) {
    const response = await post('/users/invite', { email, role }, keyed(key));
    t.equal(response.statusCode, 204);
    t.equal(response.body, '');
    t.equal(response.headers['content-type'], undefined);
    t.equal(isReplay(response), expected);
  }
  const [mails] = await rows<{ count: number }>(
    app.db,
    sql`select count(*)::int as count from activity where action = 'invite' and item = (select id::text from users where email = ${email})`,
  );
  t.equal(mails?.count, 1, 'invited once');
});

t.test('fifty parallel requests have one effect and get the same response', async (t) => {
  const [key, body] = [randomUUID(), { ...newUser(), password: 'a strong pass phrase 7' }];
  const responses = await Promise.all(Array.from({ length: 50 }, () => post('/users', body, keyed(key))));
  t.strictSame([...new Set(responses.map(({ statusCode }) => statusCode))], [200]);
  t.equal(new Set(responses.map((response) => response.body)).size, 1);
  t.equal(responses.filter(isReplay).length, 49);
  t.equal(await usersWith(body.email), 1);
});

t.test('the same key with another body, route, or query is rejected', async (t) => {
  const { id } = await createUser(app);
  const key = randomUUID();
  t.equal((await patch(`/users/${id}?fields=id,title`, { title: 'a', location: 'b' }, keyed(key))).statusCode, 200);
  const { id: other } = await createUser(app);
  const cases: [what: string, url: string, body: object][] = [
    ['another body', `/users/${id}?fields=id,title`, { title: 'b', location: 'b' }],
    ['another user', `/users/${other}?fields=id,title`, { title: 'a', location: 'b' }],
    ['another query', `/users/${id}?fields=id`, { title: 'a', location: 'b' }],
    ['another route', '/users/me', { title: 'a', location: 'b' }],
  ];
  for (const [what, url, body] of cases) refused(t, await patch(url, body, keyed(key)), 'UNPROCESSABLE_CONTENT', what);
  refused(t, await post('/users', newUser(), keyed(key)), 'UNPROCESSABLE_CONTENT', 'another method');
  const reordered = await patch(`/users/${id}?fields=id,title`, { location: 'b', title: 'a' }, keyed(key));
  t.ok(isReplay(reordered), 'the order of the fields does not matter');
});

t.test('a key belongs to its caller, whichever credential they use', async (t) => {
  const grant = (['update', 'read'] as const).map((action) => ({ collection: 'users', action, fields: ['*'] }));
  const policy = await policyWith(app, grant);
  const [ada, bob] = [
    await createUserWithToken(app, { policies: [policy] }),
    await createUserWithToken(app, { policies: [policy] }),
  ];
  const key = randomUUID();
  const send = (headers: Record<string, string>) =>
    patch('/users/me?fields=id', { title: 'mine' }, keyed(key, headers));
  t.equal((await send(ada.headers)).json().data.id, ada.id);
  const own = await send(bob.headers);
  t.equal(own.json().data.id, bob.id);
  t.notOk(isReplay(own));
  const login = await post('/auth/login', { email: ada.email, password: ada.password });
  const session = await send({ authorization: `Bearer ${login.json().data.access_token}` });
  t.ok(isReplay(session), 'in a session');
  const inQuery = await request({
    method: 'PATCH',
    url: `/users/me?fields=id&access_token=${ada.token}`,
    payload: { title: 'mine' },
    headers: { 'idempotency-key': key },
  });
  t.ok(isReplay(inQuery), 'with the token in the query');
});

t.test('a key must have 1 to 255 characters', async (t) => {
  const { id } = await createUser(app);
  t.equal((await patch(`/users/${id}`, { title: 'x' }, keyed('k'.repeat(255)))).statusCode, 200);
  for (const key of ['', 'k'.repeat(256)]) {
    refused(t, await patch(`/users/${id}`, { title: 'y' }, keyed(key)), 'INVALID_PAYLOAD', `${key.length} characters`);
  }
  refused(t, await patch(`/users/${id}`, { title: 'y' }, keyed('k'.repeat(256), {})), 'FORBIDDEN', 'rights come first');
});

t.test('other methods, operations under /auth, and anonymous callers have no keys', async (t) => {
  const user = await createUserWithToken(app);
  const before = await stored();
  for (const key of ['once', 'k'.repeat(300)]) {
    t.equal((await remove(service, '/users', [], keyed(key))).statusCode, 204);
    t.equal(
      (await post('/auth/login', { email: user.email, password: user.password }, keyed(key, user.headers))).statusCode,
      200,
    );
    t.equal((await post('/users/register', newUser(), keyed(key, {}))).statusCode < 500, true);
  }
  t.equal(await stored(), before);
});

t.test(
  'the result of a request is stored, but not that the request was malformed, not allowed, or failed',
  async (t) => {
    const taken = await createUser(app);
    const [key, body] = [randomUUID(), { ...newUser(), email: taken.email }];
    const first = await post('/users', body, keyed(key));
    refused(t, first, 'RECORD_NOT_UNIQUE', 'first');
    await deleteUser(app, taken.id);
    const again = await post('/users', body, keyed(key));
    t.ok(isReplay(again), 'the address is free, but the result stays the same');
    t.equal(again.body, first.body);

    const other = randomUUID();
    refused(t, await post('/users', { ...newUser(), wings: 2 }, keyed(other)), 'INVALID_PAYLOAD', 'malformed');
    const nobody = await createUserWithToken(app);
    refused(t, await post('/users', newUser(), keyed(other, nobody.headers)), 'FORBIDDEN', 'not allowed');
    const fixed = await post('/users', newUser(), keyed(other));
    t.equal(fixed.statusCode, 200, 'the key can be used again');
    t.notOk(isReplay(fixed));
  },
);

t.test('a response is kept for a day', async (t) => {
  const { id } = await createUser(app);
  const key = randomUUID();
  const send = () => patch(`/users/${id}?fields=title`, { title: 'x' }, keyed(key));
  await send();
  clock.advance(day - 60_000);
  t.ok(isReplay(await send()));
  clock.advance(120_000);
  t.notOk(isReplay(await send()), 'carried out again');
  t.ok(isReplay(await send()), 'and stored again');
});

t.test('responses are encrypted', async (t) => {
  const body = { ...newUser(), title: 'confidential-title' };
  await post('/users', body, keyed('a-telling-key'));
  const all = JSON.stringify(await app.db.select().from(storedResponses));
  t.notOk(all.includes('confidential-title') || all.includes(body.email) || all.includes('a-telling-key'));
  t.not(await stored(), 0);
});

t.test('rights are checked again before a response is repeated', async (t) => {
  const granted = (fields: string[], action: 'create' | 'read') => ({ collection: 'users', action, fields });
  const policy = await policyWith(app, [
    granted(['email', 'title'], 'create'),
    granted(['id', 'email', 'title'], 'read'),
  ]);
  const caller = await createUserWithToken(app, { policies: [policy] });
  const [key, body] = [randomUUID(), newUser()];
  const send = () => post('/users', body, keyed(key, caller.headers));
  const set = (action: 'create' | 'read', fields: string[]) =>
    app.db.update(permissions).set({ fields }).where(sql`policy = ${policy} and action = ${action}`);
  t.equal((await send()).statusCode, 200);
  t.ok(isReplay(await send()));

  await set('create', ['email']);
  refused(t, await send(), 'FORBIDDEN', 'may no longer write the title');
  await set('create', ['*']);
  t.ok(isReplay(await send()), 'more rights are not a reason to refuse');
  await set('read', ['id', 'title']);
  refused(t, await send(), 'FORBIDDEN', 'may no longer read the address');
  await set('read', ['*']);
  t.ok(isReplay(await send()));
  await app.db.delete(permissions).where(sql`policy = ${policy} and action = 'create'`);
  refused(t, await send(), 'FORBIDDEN', 'may no longer create users');
  await app.db.insert(permissions).values({ policy, ...granted(['*'], 'create') });
  t.ok(isReplay(await send()));
  await changeUser(app, caller.id, { status: 'suspended' });
  refused(t, await send(), 'INVALID_CREDENTIALS', 'suspended');
  t.equal(await usersWith(body.email), 1);

  const administrator = randomUUID();
  const role = await createRole(app);
  const { id } = await createUser(app);
  const asRole = await policyWith(app, [
    granted(['*'], 'read'),
    { collection: 'users', action: 'update', fields: ['*'] },
  ]);
  const demoted = await createUserWithToken(app, {
    policies: [asRole, await policyWith(app, [], { adminAccess: true })],
  });
  const move = () => patch(`/users/${id}?fields=id`, { role }, keyed(administrator, demoted.headers));
  t.equal((await move()).statusCode, 200);
  await app.db.execute(sql`delete from user_policies where "user" = ${demoted.id} and policy <> ${asRole}`);
  refused(t, await move(), 'FORBIDDEN', 'no longer an administrator');
});

t.test('the responses are deleted with the user', async (t) => {
  const policy = await policyWith(app, [{ collection: 'users', action: 'update', fields: ['*'] }]);
  const user = await createUserWithToken(app, { policies: [policy] });
  await patch('/users/me', { title: 'x' }, keyed(randomUUID(), user.headers));
  t.equal(await stored(user.id), 1);
  const login = await post('/auth/login', { email: user.email, password: user.password });
  const exported = await service.get('/users/me/export', { authorization: `Bearer ${login.json().data.access_token}` });
  t.match(exported.json().data.stored_responses, [{ expires_at: /^\d{4}-/ }]);
  t.equal((await remove(service, `/users/${user.id}`)).statusCode, 204);
  t.equal(await stored(user.id), 0);
});

t.test('a response that is too large to be stored is refused, and nothing is written', async (t) => {
  const keys: string[] = [];
  for (let index = 0; index < 120; index++) keys.push((await createUser(app, { password: null })).id);
  const data = { description: 'd'.repeat(9_000) };
  const key = randomUUID();
  const before = await stored();
  const send = (fields: string) => patch(`/users?fields=${fields}`, { keys, data }, keyed(key));
  refused(t, await send('id,description'), 'INVALID_QUERY', 'too large');
  t.equal(await stored(), before);
  const [written] = await app.db.select({ count: count() }).from(users).where(eq(users.description, data.description));
  t.equal(written?.count, 0, 'nothing is written');
  t.equal((await send('id')).statusCode, 200, 'with fewer fields');
});

t.test('a caller can store a limited number of responses', async (t) => {
  const policy = await policyWith(app, [{ collection: 'users', action: 'update', fields: ['*'] }]);
  const user = await createUserWithToken(app, { policies: [policy] });
  const now = clock.now();
  await rows(
    app.db,
    sql`insert into stored_responses ("user", key, response, size, expires_at)
      select ${user.id}, n::text, '', 0, ${new Date(now.getTime() + 1_000_000).toISOString()}::timestamptz from generate_series(1, 10000) n`,
  );
  const send = () => patch('/users/me', { title: 'x' }, keyed('one-more', user.headers));
  const response = await send();
  refused(t, response, 'REQUESTS_EXCEEDED', 'one more');
  const wait = Number(response.headers['retry-after']);
  t.ok(wait > 900 && wait <= 1000, `${wait} s`);
  t.equal((await patch('/users/me', { title: 'x' }, user.headers)).statusCode, 204, 'without a key');
  clock.advance(1_001_000);
  t.equal((await send()).statusCode, 204, 'after they have expired');
});

t.test('after a failure, the request can be repeated', async (t) => {
  const { id } = await createUser(app);
  const key = randomUUID();
  const { record } = app.activity;
  t.teardown(() => Object.assign(app.activity, { record }));
  app.activity.record = async () => {
    throw new Error('out of order');
  };
  const send = () => patch(`/users/${id}?fields=title`, { title: 'later' }, keyed(key));
  t.equal((await send()).statusCode, 500);
  app.activity.record = record;
  const second = await send();
  t.equal(second.statusCode, 200);
  t.notOk(isReplay(second));
});

t.test('every operation stores its response in the transaction of its change', async (t) => {
  const policy = await policyWith(app, [], { adminAccess: true });
  const caller = await createUserWithToken(app, { policies: [policy] });
  const login = await post('/auth/login', { email: caller.email, password: caller.password });
  const session = { authorization: `Bearer ${login.json().data.access_token}` };
  const { id } = await createUser(app);
  const role = await createRole(app);
  const strong = 'another strong pass phrase 8';
  const requests: [method: 'POST' | 'PATCH', url: string, payload: object][] = [
    ['POST', '/users', [0, 1].map(() => ({ ...newUser(), password: strong }))],
    ['PATCH', '/users', { keys: [id], data: { title: 'x' } }],
    ['PATCH', `/users/${id}`, { title: 'y' }],
    ['PATCH', '/users/me', { title: 'z' }],
    ['PATCH', '/users/me/profile', { first_name: 'Ada' }],
    ['POST', '/users/me/password', { password: strong, current_password: caller.password }],
    ['POST', '/users/me/email', { email: newUser().email }],
    ['POST', '/users/me/tfa/generate', { password: strong }],
    ['POST', `/users/${id}/unlock`, {}],
    ['POST', '/users/invite', { email: newUser().email, role }],
    ['POST', '/roles', { name: 'new' }],
    ['PATCH', '/settings', { project_name: 'Keyed' }],
  ];
  for (const [method, url, payload] of requests) {
    const key = randomUUID();
    const send = () => request({ method, url, payload, headers: keyed(key, session) });
    const first = await send();
    t.ok(first.statusCode < 300, `${method} ${url}: ${first.statusCode} ${first.body}`);
    const [found] = await rows<{ together: number }>(
      app.db,
      sql`select count(distinct s.key)::int as together from stored_responses s join activity a on a.xmin::text = s.xmin::text
        where s."user" = ${caller.id}`,
    );
    t.equal(found?.together, 1, `${method} ${url}: in one transaction`);
    const again = await send();
    t.ok(isReplay(again), `${method} ${url}: is repeated`);
    t.equal(again.body, first.body);
    await app.db.delete(storedResponses).where(eq(storedResponses.user, caller.id));
  }
});
