import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import t from 'tap';
import { insertActivity } from '../../db/queries/activity/activity.js';
import { sessions } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { hearStatements, type Sent, withValues } from '../helpers/database/statements.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { createPolicy, createRole, policyWith } from '../helpers/users/rights.js';
import { openSession } from '../helpers/users/sessions.js';
import { createUser, createUserWithToken, deleteUser, type NewUser } from '../helpers/users/users.js';

/** What permissions on `activity`, `mails`, and `sessions` allow, and for which users. */

const service = await startWithAdmin(t);
const { app, get, post, request } = service;

type Headers = Record<string, string>;
const deskRights = [
  { collection: 'users', action: 'read', fields: ['id', 'email', 'first_name', 'status', 'role'] },
  { collection: 'users', action: 'update', fields: ['status', 'tfa_secret'] },
  { collection: 'activity', action: 'read', fields: ['*'] },
  { collection: 'mails', action: 'read', fields: ['*'] },
  { collection: 'mails', action: 'update', fields: ['*'] },
  { collection: 'sessions', action: 'read', fields: ['*'] },
  { collection: 'sessions', action: 'delete', fields: ['*'] },
] as const;
const rightsOf = (list: readonly { collection: string; action: string; fields: readonly string[] }[]) =>
  list.map((right) => ({ ...right, fields: [...right.fields] })) as never;

const deskPolicy = await policyWith(app, rightsOf(deskRights));
const morePolicy = await policyWith(app, [{ collection: 'roles', action: 'read', fields: ['*'] }]);
const fewerPolicy = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['email'] }]);
const adminPolicy = await createPolicy(app, { adminAccess: true });
const deskRole = await createRole(app, { policies: [deskPolicy] });
const childRole = await createRole(app, { parent: deskRole, policies: [fewerPolicy] });
const strongRole = await createRole(app, { parent: deskRole, policies: [morePolicy] });
const adminRole = await createRole(app, { policies: [adminPolicy] });
const desk = await createUserWithToken(app, { role: deskRole });

/** By how their rights compare with those of the desk: whether the desk reaches them. */
const targets: Record<string, { isReached: boolean; values: NewUser }> = {
  'no rights': { isReached: true, values: {} },
  'fewer rights': { isReached: true, values: { policies: [fewerPolicy] } },
  'the same role': { isReached: true, values: { role: deskRole } },
  'the same policy': { isReached: true, values: { policies: [deskPolicy] } },
  'a role that adds nothing': { isReached: true, values: { role: childRole } },
  'more rights through their role': { isReached: false, values: { role: strongRole } },
  'more rights through a policy': { isReached: false, values: { role: deskRole, policies: [morePolicy] } },
  'other rights': { isReached: false, values: { policies: [morePolicy] } },
  'admin access through a policy': { isReached: false, values: { policies: [adminPolicy] } },
  'admin access through a role': { isReached: false, values: { role: adminRole } },
};
const found = new Map<string, { id: string; email: string }>();
for (const [what, { values }] of Object.entries(targets))
  found.set(what, await createUser(app, { firstName: what, ...values }));
const userOf = (what: string) => found.get(what) ?? { id: '', email: '' };
const reached = (isReached: boolean) => Object.keys(targets).filter((what) => targets[what]?.isReached === isReached);

const eventOf = (user: string | null, more: object = {}) => ({
  ...{ id: randomUUID(), timestamp: app.clock(), action: 'logout', outcome: 'success', code: null, reason: null },
  ...{ user, actor: null, collection: 'users', item: user, ip: '192.0.2.1', userAgent: 'the agent', requestId: null },
  ...{ changed: null, seal: '', ...more },
});
const marked = (what: string) => `marked-${what}`.slice(0, 120);
const record = (...events: ReturnType<typeof eventOf>[]) => insertActivity(app.db, events as never);
const ghost = await createUser(app);
await record(
  ...[...found].map(([what, { id }]) => eventOf(id, { requestId: marked(what) })),
  eventOf(desk.id, { requestId: marked('the desk itself') }),
  eventOf(null, { requestId: marked('nobody'), item: userOf('no rights').id }),
  eventOf(ghost.id, { requestId: marked('a deleted user') }),
);
await deleteUser(app, ghost.id);

const listed = async (headers: Headers, query = '') => {
  const response = await get(
    `/activity?filter[request_id][_starts_with]=marked-&fields=request_id&limit=200${query}`,
    headers,
  );
  if (response.statusCode !== 200) throw new Error(response.body);
  return response
    .json()
    .data.map(({ request_id: name }: { request_id: string }) => name.slice(7))
    .sort();
};

t.test('the audit log contains only events of users without additional rights', async (t) => {
  const visible = [...reached(true), 'the desk itself'].sort();
  t.strictSame(await listed(desk.headers), visible);
  t.strictSame(await listed(asAdmin), [...found.keys(), 'the desk itself', 'nobody', 'a deleted user'].sort());
  for (const sort of ['id', '-id', 'timestamp', '-timestamp', 'user.email'])
    t.strictSame(await listed(desk.headers, `&sort=${sort}`), visible, `sort=${sort}`);
  for (const [what, { id }] of found) {
    const expected = targets[what]?.isReached ? [what] : [];
    t.strictSame(await listed(desk.headers, `&filter[user]=${id}`), expected, what);
    t.strictSame(await listed(desk.headers, `&search=${id}`), expected, `search: ${what}`);
    const [event] = (await get(`/activity?filter[user]=${id}&fields=id`, asAdmin)).json().data;
    const one = await get(`/activity/${event.id}`, desk.headers);
    if (targets[what]?.isReached) t.equal(one.statusCode, 200, what);
    else refused(t, one, 'FORBIDDEN', what);
  }
  const counted = (path: string) => get(`/activity?${path}&filter[request_id][_starts_with]=marked-`, desk.headers);
  t.strictSame((await counted('aggregate[count]=*')).json().data, [{ count: visible.length }]);
  t.strictSame((await counted('meta=filter_count&limit=0')).json().meta, { filter_count: visible.length });
  const groups = (await counted('aggregate[count]=*&groupBy=user')).json().data;
  t.equal(groups.length, visible.length, 'groups');
  const page = await counted('limit=3&meta=cursor&fields=request_id&sort=-id');
  const seen: string[] = page.json().data.map(({ request_id: name }: { request_id: string }) => name);
  for (let next = page.json().meta.next_cursor; next; ) {
    const { data, meta } = (await counted(`limit=3&meta=cursor&fields=request_id&sort=-id&cursor=${next}`)).json();
    seen.push(...data.map(({ request_id: name }: { request_id: string }) => name));
    next = meta.next_cursor;
  }
  t.strictSame(seen.sort(), visible.map(marked), 'page by page');
  const all = await get('/activity?limit=-1&fields=user', desk.headers);
  const others = new Set(reached(false).map((what) => userOf(what).id));
  t.notOk(
    all.json().data.some(({ user }: { user: string | null }) => user === null || others.has(user)),
    'all rows',
  );
});

t.test('a change of rights takes effect immediately', async (t) => {
  const policy = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['email'] }]);
  const role = await createRole(app, { policies: [policy] });
  const user = await createUser(app, { role });
  await record(eventOf(user.id, { requestId: 'changing' }));
  const count = async () =>
    (await get('/activity?filter[request_id]=changing', desk.headers)).json().data.length as number;
  t.equal(await count(), 1);
  const made = await post('/permissions', { policy, collection: 'users', action: 'delete', fields: ['*'] }, asAdmin);
  t.equal(made.statusCode, 200, made.body);
  t.equal(await count(), 0, 'the user has an additional right');
  await request({ method: 'DELETE', url: `/permissions/${made.json().data.id}`, headers: asAdmin });
  t.equal(await count(), 1, 'the user no longer has it');
  await request({ method: 'PATCH', url: `/users/${user.id}`, payload: { policies: [morePolicy] }, headers: asAdmin });
  t.equal(await count(), 0, 'the user has an additional policy');
});

t.test('fields and filters of permissions apply to the audit log', async (t) => {
  const deskWith = async (granted: object) =>
    createUserWithToken(app, {
      policies: [
        deskPolicy,
        await policyWith(app, [{ collection: 'users', action: 'read', fields: ['email', 'status'] }]),
      ].slice(1),
      role: await createRole(app, {
        policies: [
          await policyWith(app, rightsOf(deskRights.filter(({ collection }) => collection !== 'activity'))),
          await policyWith(app, [{ collection: 'activity', action: 'read', fields: ['*'], ...granted }] as never),
        ],
      }),
    });
  const narrow = await deskWith({ fields: ['id', 'action', 'user', 'request_id'] });
  const one = (await get('/activity?limit=1', narrow.headers)).json().data[0];
  t.strictSame(Object.keys(one).sort(), ['action', 'id', 'request_id', 'user'], 'all fields');
  for (const query of [
    'fields=ip',
    'filter[ip]=192.0.2.1',
    'filter[_or][0][ip][_null]=true',
    'sort=ip',
    'sort=-user_agent',
    'aggregate[countDistinct]=ip',
    'aggregate[min]=timestamp',
    'aggregate[count]=*&groupBy=ip',
    'fields=user.token',
    'fields=user.password',
    'fields=user.last_page',
    'filter[user][last_page][_null]=true',
    'sort=user.last_page',
    'fields=actor.name',
    'fields=seal',
  ]) {
    refused(t, await get(`/activity?${query}`, narrow.headers), 'FORBIDDEN', query);
  }
  t.strictSame((await get('/activity?search=the%20agent', narrow.headers)).json().data, [], 'search in a hidden field');
  const admins = await get(
    '/activity?fields=request_id&filter[user][email][_starts_with]=user&limit=-1',
    narrow.headers,
  );
  t.notOk(admins.body.includes(marked('admin access')), 'a filter through a relation');

  const filtered = await deskWith({ permissions: { action: { _eq: 'login' } } });
  t.strictSame(await listed(filtered.headers), [], 'a filter');
  const { id } = userOf('no rights');
  const single = await deskWith({ permissions: { user: { id: { _eq: id } } } });
  t.strictSame(await listed(single.headers), ['no rights'], 'a filter through a relation');
  const onlyStrong = await deskWith({ permissions: { user: { role: { _eq: strongRole } } } });
  t.strictSame(await listed(onlyStrong.headers), [], 'a filter cannot extend the reach');
});

t.test('the user behind an event is read in the same request', async (t) => {
  const { id, email } = userOf('fewer rights');
  const path = `/activity?filter[user]=${id}&fields=*,user.first_name,user.email`;
  const [event] = (await get(path, desk.headers)).json().data;
  t.strictSame(event.user, { first_name: 'fewer rights', email });
  t.equal(event.action, 'logout', 'with all other fields');
  const reading = await policyWith(app, [{ collection: 'activity', action: 'read', fields: ['*'] }]);
  const auditor = await createUserWithToken(app, { policies: [reading] });
  refused(t, await get(path, auditor.headers), 'FORBIDDEN', 'without a permission on users');
  t.equal((await get('/activity?fields=*', auditor.headers)).statusCode, 200);
});

t.test('sessions can be read and ended only for users without additional rights', async (t) => {
  for (const [what, { id }] of found) {
    await openSession(app, id);
    await openSession(app, id);
    const all = (await get(`/users/${id}/sessions`, asAdmin)).json().data;
    t.equal(all.length, 2);
    const read = await get(`/users/${id}/sessions`, desk.headers);
    const end = (path: string) =>
      request({ method: 'DELETE', url: `/users/${id}/sessions${path}`, headers: desk.headers });
    if (targets[what]?.isReached) {
      t.strictSame(read.json().data, all, `${what}: list`);
      t.equal((await end(`/${all[0].id}`)).statusCode, 204, `${what}: end one`);
      t.equal((await end('')).statusCode, 204, `${what}: end all`);
      t.strictSame((await get(`/users/${id}/sessions`, asAdmin)).json().data, [], what);
    } else {
      refused(t, read, 'FORBIDDEN', `${what}: list`);
      refused(t, await end(`/${all[0].id}`), 'FORBIDDEN', `${what}: end one`);
      refused(t, await end(''), 'FORBIDDEN', `${what}: end all`);
      t.equal((await get(`/users/${id}/sessions`, asAdmin)).json().data.length, 2, what);
    }
  }
  const own = await get(`/users/${desk.id}/sessions`, desk.headers);
  t.equal(own.statusCode, 200, 'their own');
});

t.test('fields and filters of permissions apply to sessions', async (t) => {
  const { id } = userOf('no rights');
  const sessionsOf = async (rights: object[]) =>
    createUserWithToken(app, { policies: [await policyWith(app, rights as never)] });
  const reader = await sessionsOf([{ collection: 'sessions', action: 'read', fields: ['id', 'device', 'secret'] }]);
  await openSession(app, id);
  const [session] = (await get(`/users/${id}/sessions`, reader.headers)).json().data;
  t.strictSame(Object.keys(session).sort(), ['can_end', 'device', 'id']);
  t.equal(session.can_end, false, 'reading does not include ending');
  const end = (headers: Headers, path = '') =>
    request({ method: 'DELETE', url: `/users/${id}/sessions${path}`, headers });
  refused(t, await end(reader.headers), 'FORBIDDEN', 'reading does not include ending');
  refused(t, await end(reader.headers, `/${session.id}`), 'FORBIDDEN', 'reading does not include ending one');
  const none = await sessionsOf([{ collection: 'sessions', action: 'read', fields: ['secret'] }]);
  refused(t, await get(`/users/${id}/sessions`, none.headers), 'FORBIDDEN', 'no field exists');
  const rule = { address: { _eq: '198.51.100.1' } };
  const partial = await sessionsOf([
    { collection: 'sessions', action: 'read', fields: ['*'], permissions: rule },
    { collection: 'sessions', action: 'read', fields: ['id'], permissions: { user: { status: { _eq: 'active' } } } },
    { collection: 'sessions', action: 'delete', fields: [], permissions: rule },
  ]);
  t.strictSame((await get(`/users/${id}/sessions`, partial.headers)).json().data, [{ id: session.id, can_end: false }]);
  refused(t, await end(partial.headers, `/${session.id}`), 'FORBIDDEN', 'a session outside the filter');
  refused(t, await end(partial.headers), 'FORBIDDEN', 'all, if one is outside the filter');
  await openSession(app, id);
  const listed: { id: string }[] = (await get(`/users/${id}/sessions`, reader.headers)).json().data;
  const other = String(listed.find((one) => one.id !== session.id)?.id);
  await app.db.update(sessions).set({ ip: '198.51.100.1' }).where(eq(sessions.id, other));
  const both: { id: string; can_end: boolean }[] = (await get(`/users/${id}/sessions`, partial.headers)).json().data;
  t.strictSame(
    new Map(both.map((one) => [one.id, one.can_end])),
    new Map([
      [session.id, false],
      [other, true],
    ]),
  );
  t.equal((await end(partial.headers, `/${other}`)).statusCode, 204, 'the one inside the filter');
  t.equal((await get(`/users/${id}/sessions`, reader.headers)).json().data.length, 1);
});

/** Queues an email to a user, whose attempts have all failed. @returns its ID */
async function failedMail(user: string | null, address = `${randomUUID()}@example.com`): Promise<string> {
  const url = `${app.config.PUBLIC_URL}/account/`;
  await app.mail.enqueue(
    app.db,
    user === null ? { kind: 'reset', email: address, url } : { kind: 'invite', user, url, invitedBy: null },
  );
  const queue = sql.identifier(app.databaseConnection.schemas.queue);
  const [mail] = await rows<{ id: string }>(
    app.db,
    sql`update ${queue}.job set state = 'failed', output = '{"reason": "The server is down."}'
      where name = 'mail' and state = 'created' and ${user === null ? sql`data ->> 'email' = ${address}` : sql`data ->> 'user' = ${user}`}
      returning id`,
  );
  if (!mail) throw new Error('The email was not queued.');
  return mail.id;
}

type Listed = { id: string; user: string | null; state: string; can_retry: boolean };

t.test('emails can be read and sent again only if they are for users without additional rights', async (t) => {
  const list = async (headers: Headers, query = ''): Promise<Listed[]> =>
    (await get(`/mails?limit=1000${query}`, headers)).json().data;
  const retry = (id: string, headers: Headers) => post(`/mails/${id}/retry`, undefined, headers);
  const stateOf = async (id: string) => (await list(asAdmin)).find((mail) => mail.id === id)?.state;
  for (const [what, { id: user }] of found) {
    const id = await failedMail(user);
    const seen = (await list(desk.headers)).find((mail) => mail.id === id);
    if (targets[what]?.isReached) {
      t.strictSame(
        seen,
        (await list(asAdmin)).find((mail) => mail.id === id),
        what,
      );
      t.equal(seen?.can_retry, true, what);
      t.equal((await list(desk.headers, '&state=failed')).at(0)?.id, id, `${what}: newest first`);
      t.equal((await retry(id, desk.headers)).statusCode, 204, what);
      t.equal(await stateOf(id), 'waiting', what);
      t.equal((await list(desk.headers)).find((mail) => mail.id === id)?.can_retry, false, `${what}: it waits`);
      refused(t, await retry(id, desk.headers), 'FORBIDDEN', `${what}: it waits already`);
    } else {
      t.notOk(seen, what);
      refused(t, await retry(id, desk.headers), 'FORBIDDEN', what);
      t.equal(await stateOf(id), 'failed', what);
    }
  }
  const unknown = await failedMail(null, userOf('no rights').email);
  t.notOk(
    (await list(desk.headers)).some(({ user }) => user === null),
    'an email to an address',
  );
  refused(t, await retry(unknown, desk.headers), 'FORBIDDEN', 'an email to an address');
  t.equal((await retry(unknown, asAdmin)).statusCode, 204);
  refused(t, await retry('none', desk.headers), 'FORBIDDEN', 'a malformed ID');
});

t.test('the emails to one user can be listed, with the same rights', async (t) => {
  const list = async (user: string, headers: Headers, query = ''): Promise<Listed[]> =>
    (await get(`/mails?user=${user}${query}`, headers)).json().data;
  const unknown = await failedMail(null, userOf('fewer rights').email);
  for (const [what, { id: user }] of found) {
    const id = await failedMail(user);
    const all = await list(user, asAdmin, '&limit=1000');
    t.equal(all.at(0)?.id, id, `${what}: newest first`);
    t.ok(
      all.every((mail) => mail.user === user),
      what,
    );
    t.notOk(
      all.some((mail) => mail.id === unknown),
      `${what}: an email to an address`,
    );
    t.strictSame(await list(user.toUpperCase(), asAdmin), all, `${what}: in upper case`);
    t.strictSame(await list(user, desk.headers), targets[what]?.isReached ? all : [], `${what}: the desk`);
    t.strictSame(await list(user, asAdmin, '&limit=1'), all.slice(0, 1), `${what}: the newest`);
    t.strictSame(await list(user, asAdmin, '&state=sent'), [], `${what}: no email was sent`);
  }
  t.strictSame(await list(randomUUID(), asAdmin), [], 'an unknown user');
  t.strictSame(await list(randomUUID(), desk.headers), [], 'an unknown user, for the desk');
  for (const user of ['x', '1', 'null', '', '%00', `${randomUUID()}x`, `${desk.id}&user=${desk.id}`])
    refused(t, await get(`/mails?user=${user}`, asAdmin), 'INVALID_QUERY', user);
  const member = await createUserWithToken(app, { policies: [fewerPolicy] });
  refused(t, await get(`/mails?user=${member.id}`, member.headers), 'FORBIDDEN', 'without permission, even their own');
});

t.test(
  'the newest emails, and those to one user, are found with an index, however many emails there are',
  async (t) => {
    const { id: user } = userOf('no rights');
    const id = await failedMail(user);
    const queue = sql.identifier(app.databaseConnection.schemas.queue);
    await app.db.execute(sql`insert into ${queue}.job (name, state, created_on, data) select 'mail', 'failed', now() - n * interval '1 second',
    jsonb_build_object('kind', 'invite', 'user', gen_random_uuid()) from generate_series(1, 20000) n`);
    await app.db.execute(sql`analyze ${queue}.job`);
    for (const [url, headers, index] of [
      [`/mails?user=${user}`, desk.headers, 'mail_user_index'],
      ['/mails?limit=10', asAdmin, 'mail_time_index'],
      ['/mails?limit=10&state=failed', asAdmin, 'mail_time_index'],
    ] as const) {
      const sent: Sent[] = [];
      const stop = hearStatements(app, (statement) => sent.push(statement));
      const { data } = (await get(url, headers)).json();
      stop();
      t.ok(
        data.some((mail: Listed) => mail.id === id),
        url,
      );
      const statements = sent.filter(({ text }) => /\.job\b/.test(text));
      t.equal(statements.length, 1, url);
      for (const statement of statements) {
        const plan = await rows(app.db, sql.raw(`explain analyze ${withValues(statement)}`));
        const text = JSON.stringify(plan);
        t.match(text, new RegExp(`Index Scan (using|on) ${index}`), url);
        t.notMatch(text, /Seq Scan on j|Rows Removed by Filter: \d{3}|rows=20000/, url);
      }
    }
    await app.db.execute(
      sql`delete from ${queue}.job where name = 'mail' and not exists (select from users where id::text = data ->> 'user')`,
    );
  },
);

t.test('fields and filters of permissions apply to emails', async (t) => {
  const { id: user } = userOf('no rights');
  const id = await failedMail(user);
  const holder = async (...rights: object[]) =>
    createUserWithToken(app, { policies: [await policyWith(app, rights as never)] });
  const read = { collection: 'mails', action: 'read' };
  const update = { collection: 'mails', action: 'update', fields: ['*'] };
  const partial = await holder(
    { ...read, fields: ['id', 'state'] },
    { ...read, fields: ['reason'], permissions: { kind: { _eq: 'reset' } } },
    { ...update, permissions: { kind: { _eq: 'notice' } } },
  );
  const mail = (await get('/mails', partial.headers)).json().data.find((one: Listed) => one.id === id);
  t.strictSame(mail, { id, state: 'failed', can_retry: false });
  refused(t, await post(`/mails/${id}/retry`, undefined, partial.headers), 'FORBIDDEN', 'outside the filter');
  const reader = await holder({ ...read, fields: ['*'], permissions: { user: { role: { _null: true } } } });
  const all: Listed[] = (await get('/mails?limit=1000', reader.headers)).json().data;
  t.equal(all.find((one) => one.id === id)?.can_retry, false);
  t.notOk(
    all.some((one) => one.user === userOf('the same role').id),
    'a filter through a relation',
  );
  refused(
    t,
    await post(`/mails/${id}/retry`, undefined, reader.headers),
    'FORBIDDEN',
    'reading does not include retrying',
  );
});

t.test('permissions on these collections can only have the actions that exist', async (t) => {
  const create = (collection: string, action: string, more: object = {}) =>
    post('/permissions', { policy: morePolicy, collection, action, fields: ['*'], ...more }, asAdmin);
  const allowed = ['activity read', 'mails read', 'mails update', 'sessions read', 'sessions delete'];
  for (const collection of ['activity', 'mails', 'sessions']) {
    for (const action of ['create', 'read', 'update', 'delete']) {
      const response = await create(`directus_${collection}`, action);
      if (!allowed.includes(`${collection} ${action}`))
        refused(t, response, 'INVALID_PAYLOAD', `${collection} ${action}`);
      else {
        t.equal(response.statusCode, 200, response.body);
        const { id, collection: stored } = response.json().data;
        t.equal(stored, collection);
        await request({ method: 'DELETE', url: `/permissions/${id}`, headers: asAdmin });
      }
    }
  }
  for (const [collection, field] of [
    ['mails', 'text'],
    ['sessions', 'token_hash'],
    ['sessions', 'device'],
    ['activity', 'seal'],
  ] as const) {
    const rule = { permissions: { [field]: { _nnull: true } } };
    refused(t, await create(collection, 'read', rule), 'INVALID_PAYLOAD', `a rule on ${collection}.${field}`);
  }
  const own = (await get('/permissions/me', desk.headers)).json().data;
  t.strictSame(own.sessions, {
    create: { access: 'none' },
    read: { access: 'full', fields: ['*'], presets: {} },
    update: { access: 'none' },
    delete: { access: 'full', fields: ['*'], presets: {} },
  });
});

t.test('without these permissions, and without a credential, nothing can be read or done', async (t) => {
  const { id } = userOf('no rights');
  const member = await createUserWithToken(app, { policies: [fewerPolicy] });
  for (const [headers, code] of [
    [member.headers, 'FORBIDDEN'],
    [{}, 'INVALID_CREDENTIALS'],
  ] as const) {
    refused(t, await get('/mails', headers), code, 'GET /mails');
    refused(t, await post(`/mails/${randomUUID()}/retry`, undefined, headers), code, 'retry');
    refused(t, await get(`/users/${id}/sessions`, headers), code, 'sessions');
    refused(t, await request({ method: 'DELETE', url: `/users/${id}/sessions`, headers }), code, 'end all');
    refused(t, await get('/activity', headers), 'FORBIDDEN', 'GET /activity');
  }
});

t.test(
  'the reason why a user cannot sign in is readable on request, for users without additional rights',
  async (t) => {
    const fields = 'fields=id,locked_until,has_password,last_failure';
    const stateOf = async (id: string, headers: Headers = desk.headers) =>
      (await get(`/users/${id}?${fields}`, headers)).json().data;
    const login = (email: string, password: string) => post('/auth/login', { email, password });
    const cases: [string, NewUser, string][] = [
      ['a wrong password', {}, 'wrong_password'],
      ['no password', { password: null }, 'no_password'],
      ['a provider', { provider: 'github' }, 'no_password'],
      ['suspended', { status: 'suspended' }, 'suspended'],
      ['unverified', { status: 'unverified' }, 'unverified'],
      ['invited', { status: 'invited', password: null }, 'invited'],
    ];
    for (const [what, values, reason] of cases) {
      const user = await createUser(app, values);
      const before = await stateOf(user.id);
      t.strictSame(
        before,
        { id: user.id, locked_until: null, has_password: values.password !== null, last_failure: null },
        `${what}: before`,
      );
      await login(user.email, 'a wrong password');
      const { last_failure } = await stateOf(user.id);
      t.match(last_failure, { code: 'INVALID_CREDENTIALS', reason, timestamp: /Z$/ }, what);
      t.strictSame(Object.keys(last_failure).sort(), ['code', 'reason', 'timestamp']);
    }
    const careful = await createUser(app, { tfa: true });
    await login(careful.email, careful.password);
    t.match((await stateOf(careful.id)).last_failure, { code: 'INVALID_OTP', reason: 'missing_code' }, 'no code');

    const locked = await createUser(app);
    for (let guess = 0; guess < 26; guess++) await login(locked.email, 'a wrong password');
    const state = await stateOf(locked.id);
    t.match(state.last_failure, { code: 'REQUESTS_EXCEEDED', reason: 'locked' });
    const wait = new Date(state.locked_until).getTime() - app.clock().getTime();
    t.ok(wait > 0 && wait <= 900_000, `${wait} ms`);
    t.equal((await post(`/users/${locked.id}/unlock`, undefined, desk.headers)).statusCode, 204);
    t.equal((await stateOf(locked.id)).locked_until, null, 'unlocked');

    for (const [what, { id, email }] of found) {
      await login(email, 'a wrong password');
      const own = await stateOf(id);
      const expected = targets[what]?.isReached
        ? await stateOf(id, asAdmin)
        : { locked_until: null, has_password: null, last_failure: null };
      t.match(own, expected, what);
      t.equal((await stateOf(id, asAdmin)).has_password, true, `${what}: an administrator`);
    }
    const { id } = userOf('no rights');
    const list = (await get(`/users?filter[id]=${id}&fields=last_failure`, desk.headers)).json().data;
    t.strictSame(Object.keys(list[0]), ['last_failure'], 'a list, without the ID');
    t.equal(list[0].last_failure.reason, 'wrong_password');
    for (const path of [`/users/${id}`, `/users/${id}?fields=*`, `/users?filter[id]=${id}`]) {
      const { data } = (await get(path, asAdmin)).json();
      t.notOk('last_failure' in [data].flat()[0], path);
    }
    for (const query of ['filter[has_password]=true', 'sort=locked_until', 'aggregate[count]=has_password']) {
      refused(t, await get(`/users?${query}`, asAdmin), 'FORBIDDEN', query);
    }
    const reading = { collection: 'users', action: 'read', fields: ['*'] };
    for (const [what, rights] of [
      ['only users', [reading]],
      [
        'events of their own',
        [
          reading,
          { collection: 'activity', action: 'read', fields: ['*'], permissions: { user: { _eq: '$CURRENT_USER' } } },
        ],
      ],
      ['some fields of events', [reading, { collection: 'activity', action: 'read', fields: ['id', 'action'] }]],
    ] as const) {
      const { headers } = await createUserWithToken(app, { policies: [await policyWith(app, rights as never)] });
      for (const field of ['locked_until', 'has_password', 'last_failure'])
        refused(t, await get(`/users/${id}?fields=${field}`, headers), 'FORBIDDEN', `${what}: ${field}`);
    }
  },
);
