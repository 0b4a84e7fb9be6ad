import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { activity, roles, sessions, users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { createRole, policyWith } from '../helpers/users/rights.js';
import { createSignedInUser, createUser, createUserWithToken } from '../helpers/users/users.js';

const linesOf = (body: string) =>
  body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

t.test('a list is exported as NDJSON, with the items of the list', async (t) => {
  const { app, get } = await startWithAdmin(t);
  const role = await createRole(app);
  for (let index = 0; index < 3; index++) await createUser(app, { firstName: `User ${index}`, role });
  const query = 'fields=id,first_name,role.name,policies.name&sort=-first_name&filter[first_name][_starts_with]=User';
  const list = (await get(`/users?${query}`, asAdmin)).json().data;
  const response = await get(`/users?${query}&export=ndjson`, asAdmin);
  t.equal(response.statusCode, 200);
  t.equal(response.headers['content-type'], 'application/x-ndjson');
  t.match(response.headers['content-disposition'], /^attachment; filename="users-\d{4}-\d\d-\d\d\.ndjson"$/);
  t.equal(list.length, 3);
  t.strictSame(linesOf(response.body), list);
  for (const [parameters, count] of [
    ['limit=2', 2],
    ['limit=0', 0],
    ['limit=1&page=2', 1],
    ['offset=1', 2],
    ['search=user%201', 1],
  ] as const) {
    const expected = (await get(`/users?${query}&${parameters}`, asAdmin)).json().data;
    t.equal(expected.length, count);
    t.strictSame(
      linesOf((await get(`/users?${query}&${parameters}&export=ndjson`, asAdmin)).body),
      expected,
      parameters,
    );
  }
});

t.test('CSV has a header row, flattens relations, and guards formulas', async (t) => {
  const { app, get } = await startWithAdmin(t);
  const role = await createRole(app);
  await app.db.update(roles).set({ name: 'A "role", with a comma' }).where(eq(roles.id, role));
  const texts = ['=1+1', '+49', '-1', '@x', '\tx', '\rx', '＝1', 'a,b', 'two\nlines', "'quoted", 'plain', ''];
  for (const [index, title] of texts.entries())
    await createUser(app, { firstName: String(index).padStart(2, '0'), title, role, tags: ['a', 'b'] });
  await createUser(app, { firstName: '99' });
  const query = 'fields=first_name,title,role.name,tags&filter[first_name][_nnull]=&limit=-1&sort=first_name';
  const response = await get(`/users?${query}&export=csv`, asAdmin);
  t.equal(response.headers['content-type'], 'text/csv; charset=utf-8');
  const cells = [
    `"'=1+1"`,
    `"'+49"`,
    `"'-1"`,
    `"'@x"`,
    `"'\tx"`,
    `"'\rx"`,
    `"'＝1"`,
    '"a,b"',
    '"two\nlines"',
    `"'quoted"`,
    'plain',
    '""',
  ];
  const row = (first: string, title: string) => `${first},${title},"A ""role"", with a comma","[""a"",""b""]"\r\n`;
  const rows = cells.map((cell, index) => row(String(index).padStart(2, '0'), cell));
  const [header = '', ...found] = response.body.split(/(?<=\r\n)/);
  t.equal(header, 'first_name,title,role.name,tags\r\n');
  t.equal(found.filter((line) => !line.startsWith('Admin')).join(''), `${rows.join('')}99,,,\r\n`);
  const none = await get('/users?fields=id,policies.name&filter[title][_eq]=nothing&export=csv', asAdmin);
  t.equal(none.body, 'id,policies\r\n', 'without items, only the header row');
});

t.test('every list of the query language can be exported', async (t) => {
  const { app, get } = await startWithAdmin(t, { RATE_LIMITER_ENABLED: 'false' });
  for (const collection of ['users', 'roles', 'policies', 'permissions', 'activity', 'clients', 'resources']) {
    const expected = (await get(`/${collection}?limit=-1&fields=id`, asAdmin)).json().data;
    const response = await get(`/${collection}?limit=-1&fields=id&export=ndjson`, asAdmin);
    t.equal(response.statusCode, 200, collection);
    if (collection !== 'activity') t.strictSame(linesOf(response.body), expected, collection);
    const [last] = (await app.db.select().from(activity).orderBy(activity.id)).slice(-1);
    t.match(last, { action: 'export', outcome: 'success', collection, item: null }, 'the export is recorded');
    t.ok(last?.changed?.includes('id'), 'with its fields');
  }
});

t.test('the limits of a response do not apply, but the rights of the caller do', async (t) => {
  const { app, get } = await startWithAdmin(t, { MAX_RESPONSE_SIZE: '100kb', QUERY_LIMIT_MAX: '50' });
  const policy = await policyWith(app, [
    {
      collection: 'users',
      action: 'read',
      fields: ['id', 'first_name'],
      permissions: { first_name: { _nnull: true } },
    },
  ]);
  const { headers } = await createUserWithToken(app, { policies: [policy] });
  const many = Array.from({ length: 1_234 }, (_, index) => ({
    email: `${index}@example.com`,
    firstName: `Name ${index % 7}`,
    title: 'x'.repeat(50),
    // A part of the export would be larger than a response may be.
    tags: [randomBytes(450).toString('hex')],
  }));
  for (let start = 0; start < many.length; start += 200)
    await app.db.insert(users).values(many.slice(start, start + 200));
  refused(t, await get('/users?limit=60', headers), 'INVALID_QUERY', 'the list is limited');
  const found = linesOf((await get('/users?limit=-1&sort=first_name&export=ndjson', headers)).body);
  t.equal(new Set(found.map(({ id }) => id)).size, 1_234);
  t.strictSame(Object.keys(found[0]), ['id', 'first_name']);
  t.equal((await get('/users?limit=-1&export=csv', asAdmin)).body.split('\r\n').length, 1 + 1_236 + 1);
  t.equal(linesOf((await get('/users?limit=700&export=ndjson', asAdmin)).body).length, 700);
  refused(t, await get('/users?fields=email&export=csv', headers), 'FORBIDDEN', 'a hidden field');
  refused(t, await get('/users?filter[email][_nnull]=&export=csv', headers), 'FORBIDDEN', 'a filter on a hidden field');
  refused(t, await get('/roles?export=csv', headers), 'FORBIDDEN', 'another collection');
});

t.test('an invalid export is rejected before anything is sent', async (t) => {
  const { get } = await startWithAdmin(t);
  for (const query of [
    'export=xml',
    'export=csv&export=ndjson',
    'export[a]=csv',
    'export=csv&meta=*',
    'export=csv&aggregate[count]=*',
    'export=csv&limit=-2',
    'export=csv&cursor=x',
  ]) {
    refused(t, await get(`/users?${query}`, asAdmin), 'INVALID_QUERY', query);
  }
});

t.test('HEAD exports nothing', async (t) => {
  const { app, get } = await startWithAdmin(t);
  const answer = await app.inject({ method: 'HEAD', url: '/users?export=csv', headers: asAdmin });
  t.equal(answer.statusCode, 400);
  t.equal((await app.inject({ method: 'HEAD', url: '/users', headers: asAdmin })).statusCode, 200);
  const events = await get('/activity?filter[action]=export', asAdmin);
  t.strictSame(events.json().data, [], 'no export is recorded');
  t.equal((await get('/users?export=csv', asAdmin)).statusCode, 200, 'and the next export does not have to wait');
});

t.test('exports have a limit of their own', async (t) => {
  const { get } = await startWithAdmin(t, { RATE_LIMITER_ENABLED: 'true', RATE_LIMITER_POINTS: '1000' });
  for (let index = 0; index < 10; index++) t.equal((await get('/roles?export=csv', asAdmin)).statusCode, 200);
  refused(t, await get('/roles?export=csv', asAdmin), 'REQUESTS_EXCEEDED', 'the eleventh in a minute');
  t.equal((await get('/roles', asAdmin)).statusCode, 200, 'other requests are not affected');
});

/** Reads a response over a socket, so that the test decides when to read. */
function openExport(port: number, url: string, headers: Record<string, string>) {
  const socket = connect(port, '127.0.0.1');
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${url} HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n`);
  const parts: Buffer[] = [];
  const begun = new Promise<void>((resolve, reject) => {
    socket.once('data', () => {
      socket.pause();
      resolve();
    });
    socket.once('error', reject);
  });
  socket.on('data', (data) => {
    parts.push(data);
    if (data.toString('latin1').endsWith('0\r\n\r\n')) socket.destroy();
  });
  const ended = new Promise<string>((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(parts).toString()));
  });
  const read = () => {
    socket.resume();
    return ended;
  };
  return { socket, begun, read };
}

t.test('an export ends early when the session ends, and only one runs for each caller', async (t) => {
  const service = await startWithAdmin(t);
  const { app, get } = service;
  const policy = await policyWith(app, [{ collection: 'users', action: 'read', fields: ['*'] }]);
  const user = await createSignedInUser(service, { policies: [policy] });
  const count = 12_000;
  for (let start = 0; start < count; start += 500) {
    await app.db.insert(users).values(
      Array.from({ length: 500 }, (_, index) => ({
        email: `${start + index}@example.com`,
        description: 'x'.repeat(2_000),
      })),
    );
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as { port: number };
  const url = '/users?limit=-1&fields=id,description&export=ndjson';
  const begin = async () => {
    const started = openExport(port, url, user.headers);
    await started.begun;
    return started;
  };

  const complete = await (await begin()).read();
  t.equal(complete.match(/"description"/g)?.length, count + 2, 'the whole list');
  t.ok(complete.endsWith('\r\n0\r\n\r\n'), 'with an end');

  const slow = await begin();
  const rejected = await get('/users?export=csv', user.headers);
  refused(t, rejected, 'SERVICE_UNAVAILABLE', 'a second export of the same caller');
  t.equal(rejected.headers['retry-after'], '5');
  t.equal((await get('/users?export=csv', asAdmin)).statusCode, 200, 'an export of another caller');
  await app.db.delete(sessions).where(eq(sessions.user, user.id));
  const cut = await slow.read();
  t.notOk(cut.endsWith('0\r\n\r\n'), 'the response has no end');
  t.ok((cut.match(/"description"/g)?.length ?? 0) < count, 'most items are missing');

  const again = await createSignedInUser(service, { policies: [policy] });
  const abandoned = openExport(port, url, again.headers);
  await abandoned.begun;
  abandoned.socket.destroy();
  let status = 503;
  for (let attempt = 0; attempt < 100 && status === 503; attempt++) {
    status = (await get('/users?export=csv&limit=1', again.headers)).statusCode;
  }
  t.equal(status, 200, 'a client that disconnects gives its place back');
});
