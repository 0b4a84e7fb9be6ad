import { randomUUID } from 'node:crypto';
import t from 'tap';
import { policies } from '../../db/schema.js';
import { recorded } from '../helpers/database/activity.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { bearer } from '../helpers/service/app.js';
import { everyPermission, policyWith, setPublicPolicy } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

const service = await startWithAdmin(t, { TRUST_PROXY: 'loopback' });
const { app, get, post, request } = service;
const search = (query: object, headers: Record<string, string> = asAdmin) =>
  request({ method: 'SEARCH' as 'POST', url: '/activity', headers, payload: { query } });

const user = await createUser(app, { firstName: 'Ada' });
await post(
  '/auth/login',
  { email: user.email, password: user.password },
  { 'user-agent': 'A browser', 'x-request-id': 'the-login' },
);
await post('/auth/login', { email: user.email, password: 'wrong' }, { 'x-request-id': 'the-failure' });
await post('/roles', { name: 'A role', icon: 'x' }, { ...asAdmin, 'x-request-id': 'the-role' });

t.test('an administrator can query the audit log', async (t) => {
  const [login, failure, role] = await recorded(app);
  const all = await get('/activity', asAdmin);
  t.strictSame(all.json().data, [
    {
      id: login?.id,
      timestamp: login?.timestamp.toISOString(),
      action: 'login',
      outcome: 'success',
      code: null,
      reason: null,
      user: user.id,
      actor: null,
      collection: 'users',
      item: user.id,
      ip: '127.0.0.1',
      user_agent: 'A browser',
      request_id: 'the-login',
      changed: null,
    },
    {
      id: failure?.id,
      timestamp: failure?.timestamp.toISOString(),
      action: 'login',
      outcome: 'failure',
      code: 'INVALID_CREDENTIALS',
      reason: 'wrong_password',
      user: null,
      actor: null,
      collection: 'users',
      item: user.id,
      ip: '127.0.0.1',
      user_agent: 'lightMyRequest',
      request_id: 'the-failure',
      changed: null,
    },
    {
      ...all.json().data[2],
      id: role?.id,
      action: 'create',
      collection: 'roles',
      item: role?.item,
      changed: ['name', 'icon'],
    },
  ]);

  const ids = async (query: string) =>
    (await get(`/activity?fields=request_id&${query}`, asAdmin))
      .json()
      .data.map(({ request_id }: { request_id: string }) => request_id);
  t.strictSame(await ids('filter[outcome][_eq]=failure'), ['the-failure']);
  t.strictSame(await ids('filter[action][_in]=login,logout'), ['the-login', 'the-failure']);
  t.strictSame(await ids(`filter[user][_eq]=${user.id}`), ['the-login']);
  t.strictSame(await ids('filter[user][first_name][_eq]=Ada'), ['the-login']);
  t.strictSame(await ids(`filter[item][_eq]=${user.id}&sort=-timestamp`), ['the-failure', 'the-login']);
  t.strictSame(await ids('filter[timestamp][_gt]=$NOW(-1 hour)&limit=1&page=2'), ['the-failure']);
  t.strictSame(await ids('filter[changed][_nnull]=true'), ['the-role']);
  t.strictSame(await ids('search=browser'), ['the-login']);
  t.strictSame(await ids('sort=-id&limit=1'), ['the-role']);
  const nested = await get('/activity?fields=action,user.first_name&limit=1&meta=*', asAdmin);
  t.strictSame(nested.json(), {
    data: [{ action: 'login', user: { first_name: 'Ada' } }],
    meta: { total_count: 3, filter_count: 3 },
  });
  const counted = await get('/activity?aggregate[count]=*&groupBy=action,outcome', asAdmin);
  t.strictSame(counted.json().data, [
    { action: 'create', outcome: 'success', count: 1 },
    { action: 'login', outcome: 'failure', count: 1 },
    { action: 'login', outcome: 'success', count: 1 },
  ]);
  t.strictSame((await search({ filter: { request_id: 'the-role' }, fields: ['action'] })).json().data, [
    { action: 'create' },
  ]);
  const one = await get(`/activity/${login?.id}?fields=action`, asAdmin);
  t.strictSame(one.json(), { data: { action: 'login' } });
  refused(t, await get(`/activity/${randomUUID()}`, asAdmin), 'FORBIDDEN', 'an unknown id');
  refused(t, await get('/activity?fields=seal', asAdmin), 'FORBIDDEN', 'the seal');
  refused(t, await get('/activity?filter[hash][_nnull]=true', asAdmin), 'FORBIDDEN', 'the hash');
  refused(t, await get('/activity?limit=many', asAdmin), 'INVALID_QUERY', 'an invalid limit');
  refused(t, await get(`/activity/${login?.id}?meta=all`, asAdmin), 'INVALID_QUERY', 'meta of a single row');
  refused(t, await search({ limit: -2 }), 'INVALID_QUERY', 'an invalid limit in a body');
});

t.test('callers without a permission cannot read the audit log, and anonymous callers never can', async (t) => {
  const everything = await policyWith(app, everyPermission);
  const reading = await policyWith(app, [{ collection: 'activity', action: 'read', fields: ['*'] }]);
  const { headers } = await createUserWithToken(app, { policies: [everything] });
  const [row] = await recorded(app);
  const cases = async (what: string, headers: Record<string, string>) => {
    refused(t, await get('/activity', headers), 'FORBIDDEN', `${what}: list`);
    refused(t, await search({}, headers), 'FORBIDDEN', `${what}: search`);
    refused(t, await get(`/activity/${row?.id}`, headers), 'FORBIDDEN', `${what}: one`);
  };
  await cases('a user', (await createUserWithToken(app)).headers);
  await cases('every permission on other collections', headers);
  await setPublicPolicy(app, reading);
  await cases('an anonymous caller whom the public policy allows it', {});
  await setPublicPolicy(app, null);
});

t.test('no request can write to the audit log directly', async (t) => {
  const [row] = await recorded(app);
  const before = await recorded(app);
  for (const method of ['POST', 'PATCH', 'DELETE', 'PUT'] as const) {
    for (const url of ['/activity', `/activity/${row?.id}`]) {
      refused(
        t,
        await request({ method, url, headers: asAdmin, payload: [row?.id] }),
        'ROUTE_NOT_FOUND',
        `${method} ${url}`,
      );
    }
  }
  t.strictSame(await recorded(app), before);
});

t.test('a row remains after the user it refers to is deleted', async (t) => {
  const gone = await createUser(app);
  await post('/auth/login', { email: gone.email, password: gone.password });
  const deleted = await request({ method: 'DELETE', url: `/users/${gone.id}`, headers: asAdmin });
  t.equal(deleted.statusCode, 204);
  const { data } = (await get(`/activity?fields=action,user,user.email&filter[item]=${gone.id}`, asAdmin)).json();
  t.strictSame(
    data.map(({ action }: { action: string }) => action),
    ['login', 'delete'],
  );
  t.equal(data[0].user, null, 'the user behind the key is gone');
  const [login] = (await get(`/activity?fields=user&filter[item]=${gone.id}`, asAdmin)).json().data;
  t.equal(login.user, gone.id, 'but the key remains');
});

t.test('an administrator restricted to one IP address can read the audit log only from there', async (t) => {
  const [policy] = await app.db
    .insert(policies)
    .values({ name: 'From there', adminAccess: true, ipAccess: ['192.0.2.7/32'] })
    .returning({ id: policies.id });
  const { token } = await createUserWithToken(app, { policies: [policy?.id ?? ''] });
  const from = (remoteAddress: string) =>
    request({ method: 'GET', url: '/activity', remoteAddress, headers: bearer(token) });
  t.equal((await from('192.0.2.7')).statusCode, 200);
  refused(t, await from('192.0.2.8'), 'FORBIDDEN', 'from another address');
});

t.test('the audit log records which fields were written, never their values (CVE-2026-39943)', async (t) => {
  const canary = 'a-canary-for-the-log';
  const made = await post(
    '/users',
    { email: `${canary}@example.com`, password: `${canary}-1`, token: `${canary}-2-of-32-characters-or-more` },
    asAdmin,
  );
  const { id } = made.json().data;
  for (const payload of [
    { password: `${canary}-3`, token: `${canary}-4-of-32-characters-or-more`, title: canary, description: canary },
    { first_name: canary, auth_data: { canary }, tags: [canary] },
  ]) {
    t.equal((await request({ method: 'PATCH', url: `/users/${id}`, payload, headers: asAdmin })).statusCode, 200);
  }
  await request({ method: 'PATCH', url: '/settings', payload: { project_name: canary }, headers: asAdmin });
  await request({ method: 'DELETE', url: `/users/${id}`, headers: asAdmin });
  const answers = [
    await get('/activity?limit=-1&fields=*', asAdmin),
    await get('/activity?limit=-1&fields=*,user.*', asAdmin),
    await search({ search: canary, limit: -1 }),
    await search({ filter: { item: { _eq: id } }, fields: ['*'] }),
    await search({ aggregate: { count: '*' }, groupBy: ['item', 'action'] }),
  ];
  for (const answer of answers) {
    t.equal(answer.statusCode, 200, answer.body);
    t.notOk(answer.body.includes(canary));
  }
  const rows = answers[3]?.json().data.filter(({ collection }: { collection: string }) => collection === 'users');
  t.strictSame(
    rows.map(({ action, changed }: { action: string; changed: string[] | null }) => [action, changed?.sort()]),
    [
      ['create', ['email', 'password', 'token']],
      ['password_change', ['description', 'password', 'title', 'token']],
      ['update', ['auth_data', 'first_name', 'tags']],
      ['delete', undefined],
    ],
    'the names of the written fields',
  );
});
