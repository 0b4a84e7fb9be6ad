import { sql } from 'drizzle-orm';
import t from 'tap';
import { permissions, users } from '../../db/schema.js';
import { hearStatements } from '../helpers/database/statements.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const { app, get, request } = await startTestApp(t, { MAX_RESPONSE_SIZE: '4mb' });
const administrator = bearer('token-of-an-administrator');
const member = bearer('token-of-a-member-of-the-staff');
await createUser(app, {
  token: 'token-of-an-administrator',
  policies: [await createPolicy(app, { adminAccess: true })],
});
const staff = await createPolicy(app);
for (const collection of ['users', 'roles', 'policies']) {
  await app.db.insert(permissions).values({ policy: staff, collection, action: 'read', fields: ['*'] });
}
await createUser(app, { token: 'token-of-a-member-of-the-staff', policies: [staff] });
const role = await createRole(app);
const addUsers = (count: number, title: string, description = '') =>
  app.db.execute(
    sql`insert into ${users} (email, role, title, description) select gen_random_uuid() || '@example.com', ${role}::uuid, ${title}::text,
      ${description}::text || i from generate_series(1, ${count}::integer) i`,
  );

t.test('a relation is read once for each key, and the same items appear in every row', async (t) => {
  await addUsers(150, 'small');
  // Ignores updates of access times, and the row count, which is cached.
  let statements = 0;
  hearStatements(app, ({ text }) => {
    if (/^\s*select (?!count)/.test(text)) statements++;
  });
  const ask = async (limit: number) => {
    const before = statements;
    const fields = 'title,role.name,role.users.title,role.users.role.name';
    const response = await get(`/users?filter[title]=small&limit=${limit}&fields=${fields}`, administrator);
    t.equal(response.statusCode, 200, response.body.slice(0, 200));
    return { data: response.json().data, statements: statements - before };
  };
  // The first request also reads what the caller's policies grant.
  await ask(1);
  const few = await ask(2);
  const many = await ask(100);
  t.ok(few.statements > 3);
  t.equal(many.statements, few.statements);
  t.equal(many.data.length, 100);
  const long = await ask(150);
  t.strictSame(long.data[149], few.data[0], 'the same if the list is read in parts');
  t.equal(long.statements, few.statements + 2, 'one statement for the keys, and one more for the second part');
  for (const item of many.data) t.strictSame(item, few.data[0]);
  const [{ role: found }] = few.data;
  t.equal(found.users.length, 100);
  t.strictSame(found.users[0], { title: 'small', role: { name: found.name } });
});

t.test('a response has a maximum size, however large the rows are', async (t) => {
  await addUsers(6, 'large', 'x'.repeat(1_000_000));
  const ask = (query: string, headers = administrator) => get(`/users?filter[title]=large&${query}`, headers);
  for (const headers of [administrator, member]) {
    const refused = await ask('limit=100', headers);
    t.equal(codeOf(refused), 'INVALID_QUERY');
    t.match(refused.json().errors[0].extensions.reason, /MAX_RESPONSE_SIZE.*Request fewer rows or fields/);
    t.equal((await ask('limit=3', headers)).json().data[2].description.length, 1_000_001, 'three rows fit');
    t.equal((await ask('fields=id,title', headers)).json().data.length, 6);
    const search = await request({
      method: 'SEARCH',
      url: '/users',
      headers,
      payload: { query: { filter: { title: 'large' } } },
    });
    t.equal(codeOf(search), 'INVALID_QUERY');
  }
  t.equal(codeOf(await ask('limit=-1')), 'INVALID_QUERY', 'also if the list is read in parts');
});

t.test('long values that do not fit are not read', async (t) => {
  await addUsers(6, 'json');
  const long = sql`jsonb_build_object('text', repeat('x', 1000000))`;
  await app.db.execute(sql`update ${users} set auth_data = ${long} where title = 'json'`);
  let reads = 0;
  const stop = hearStatements(app, ({ text }) => {
    if (/^\s*select "/.test(text) && text.includes('auth_data')) reads++;
  });
  t.teardown(stop);
  t.equal(codeOf(await get('/users?filter[title]=json&limit=100', administrator)), 'INVALID_QUERY');
  t.equal(reads, 1, 'only short values are read');
  t.equal((await get('/users?filter[title]=json&limit=3', administrator)).statusCode, 200);
  t.equal(reads, 3);
});

t.test('an item that appears in many rows is counted in every row', async (t) => {
  for (const [title, size] of [
    ['copies', 1_000],
    ['long copies', 30_000],
  ] as const) {
    const other = await createRole(app);
    await app.db.execute(sql`insert into ${users} (email, role, title, description)
      select gen_random_uuid() || '@example.com', ${other}::uuid, ${title}::text, repeat('x', ${size}::integer) from generate_series(1, 300)`);
  }
  const ask = (title: string, limit: number) =>
    get(`/users?filter[title]=${title}&limit=${limit}&fields=role.users.*`, administrator);
  const before = process.memoryUsage().rss;
  // 30 MB in parts, and 300 MB in one part.
  for (const refused of [await ask('copies', 300), await ask('long copies', 100)]) {
    t.equal(codeOf(refused), 'INVALID_QUERY');
    t.match(refused.json().errors[0].extensions.reason, /MAX_RESPONSE_SIZE/);
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  t.ok(grown < 150, `${Math.round(grown)} MB more`);
  t.equal((await ask('copies', 10)).statusCode, 200);
});

t.test('the number of rows times the items in each is at most 10,000, except for administrators', async (t) => {
  const ask = (query: string, headers: object) => get(`/users?filter[title]=copies&${query}`, { ...headers });
  for (const fields of ['role.users.id', 'id,role.users.title']) {
    t.equal((await ask(`limit=100&fields=${fields}`, member)).statusCode, 200, `100 × 100 ${fields}`);
    const refused = await ask(`limit=101&fields=${fields}`, member);
    t.equal(codeOf(refused), 'INVALID_QUERY', `101 × 100 ${fields}`);
    t.match(refused.json().errors[0].extensions.reason, /10000.*page with the cursor/);
    t.equal((await ask(`limit=101&fields=${fields}`, administrator)).statusCode, 200);
  }
  t.equal(
    (await ask('limit=300&fields=*,role.name', member)).statusCode,
    200,
    'an item that a key refers to is not counted',
  );
  t.equal((await ask('limit=300&fields=*.*', member)).statusCode, 200, 'keys alone are not counted');
});

t.test('a long list contains the same rows as its pages', async (t) => {
  await app.db.insert(users).values(
    Array.from({ length: 1_100 }, (_, index) => ({
      email: `long-${index}@example.com`,
      title: 'long',
      firstName: `${(index * 7919) % 997}`,
    })),
  );
  const query = '/users?filter[title]=long&fields=email,role.name,policies&sort=-first_name,email&meta=filter_count';
  const whole = await get(`${query}&limit=-1`, administrator);
  t.equal(whole.headers['content-type'], 'application/json; charset=utf-8');
  const pages: unknown[] = [];
  for (let page = 1; page <= 3; page++)
    pages.push(...(await get(`${query}&limit=500&page=${page}`, administrator)).json().data);
  t.strictSame(whole.json(), { data: pages, meta: { filter_count: 1_100 } });
});
