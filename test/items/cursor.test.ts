import { eq, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { permissions, users } from '../../db/schema.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const { app, get, request } = await startTestApp(t);
const capped = await startTestApp(t, { QUERY_LIMIT_MAX: '7', PUBLIC_URL: 'https://id.example.com' });
const administrator = bearer('token-of-an-administrator');
const member = bearer('token-of-a-member-of-the-staff');
const all = await createPolicy(app, { adminAccess: true });
const roles = [await createRole(app), await createRole(app), await createRole(app)];
await createUser(app, { token: 'token-of-an-administrator', policies: [all], firstName: 'Bo' });
/** A member who can read the names of users with the title `open`, and only the id and title of others. */
const staff = await createPolicy(app);
const open = { title: { _eq: 'open' } };
await app.db.insert(permissions).values([
  { policy: staff, collection: 'users', action: 'read', fields: ['id', 'title'] },
  { policy: staff, collection: 'users', action: 'read', fields: ['first_name', 'last_access'], permissions: open },
]);
await createUser(app, { token: 'token-of-a-member-of-the-staff', policies: [staff] });
const names = ['Ann', 'ann', 'Ann', null, 'Zed', '', 'Äb', 'a%', null, '日本', 'Ann', 'x'.repeat(50)];
for (const [index, firstName] of [...names, ...names].entries()) {
  await createUser(app, {
    firstName,
    title: index % 3 === 0 ? 'open' : null,
    role: roles[index % 4] ?? null,
    lastAccess: index % 5 === 0 ? null : new Date(Date.UTC(2025, 0, 1 + (index % 4), 1, 2, 3, 4 + index)),
    emailNotifications: index % 2 === 0,
    tags: index % 2 === 0 ? ['a', String(index)] : null,
    tfaSecret: index % 7 === 0 ? `secret ${index}` : null,
  });
}

type Page = { data: { id: string }[]; meta: { next_cursor: string | null } };

/** Follows the cursors, and returns the ids on all pages in order. */
async function walk(t: Test, path: string, query: string, limit: number, headers: object, between = async () => {}) {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < 200; pages++) {
    const at: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const response = await get(`${path}?fields=id&limit=${limit}&meta=cursor&${query}${at}`, { ...headers });
    t.equal(response.statusCode, 200, response.body.slice(0, 300));
    const { data, meta } = response.json() as Page;
    ids.push(...data.map(({ id }) => id));
    if (data.length < limit) t.equal(meta.next_cursor, null, 'a page that is not full is the last one');
    cursor = meta.next_cursor;
    if (cursor === null) return ids;
    await between();
  }
  throw new Error('The pages do not end.');
}

const listed = async (path: string, query: string, headers: object) =>
  ((await get(`${path}?fields=id&limit=500&${query}`, { ...headers })).json() as Page).data.map(({ id }) => id);

t.test('following the cursors returns the whole list, with any sort order and for any caller', async (t) => {
  const sorts = ['', 'first_name', '-first_name', 'first_name,-last_access', '-last_access,title', 'title,-id', '-id'];
  const others = ['role.name', '-role.name,first_name', 'email_notifications', '-email', 'tags', 'token,-tfa_secret'];
  for (const sort of [...sorts, ...others]) {
    for (const limit of [1, 4]) {
      const query = `sort=${sort}`;
      t.strictSame(
        await walk(t, '/users', query, limit, administrator),
        await listed('/users', query, administrator),
        `${query} by ${limit}`,
      );
    }
  }
  for (const sort of sorts) {
    const query = `sort=${sort}&filter[id][_nnull]=true`;
    t.strictSame(
      await walk(t, '/users', query, 3, member),
      await listed('/users', query, member),
      `a member: ${query}`,
    );
  }
});

t.test('every collection supports cursors', async (t) => {
  const sorts: Record<string, string[]> = {
    '/roles': ['', '-name', 'parent.name'],
    '/policies': ['', 'name', 'admin_access,-name'],
    '/permissions': ['', '-id', 'policy.name,-action'],
    '/activity': ['', '-timestamp', 'action,-timestamp'],
  };
  await request({ method: 'POST', url: '/roles', headers: administrator, payload: { name: 'Recorded' } });
  await request({ method: 'POST', url: '/roles', headers: administrator, payload: { name: 'Recorded, too' } });
  for (const [path, list] of Object.entries(sorts)) {
    for (const sort of list) {
      const expected = await listed(path, `sort=${sort}`, administrator);
      t.ok(expected.length > 1);
      t.strictSame(await walk(t, path, `sort=${sort}`, 1, administrator), expected, `${path} by ${sort}`);
    }
  }
});

t.test('while rows are added and deleted, no other row is skipped or returned twice', async (t) => {
  const query = 'sort=-first_name&filter[last_name][_null]=true';
  const before = await listed('/users', query, administrator);
  const passing: string[] = [];
  let turn = 0;
  const between = async () => {
    for (const firstName of ['AAA', 'zzz', 'Ann', null]) {
      passing.push((await createUser(app, { firstName })).id);
    }
    const gone = turn++ % 2 === 0 ? passing.shift() : passing.pop();
    if (gone) await app.db.delete(users).where(eq(users.id, gone));
  };
  const seen = await walk(t, '/users', query, 3, administrator, between);
  t.equal(new Set(seen).size, seen.length, 'no row is returned twice');
  t.strictSame(
    seen.filter((id) => before.includes(id)),
    before,
    'all rows that existed the whole time, in order',
  );
  for (const id of passing) await app.db.delete(users).where(eq(users.id, id));
});

t.test('the cursor is null exactly if no rows follow, and meta=* does not include it', async (t) => {
  const total = (await listed('/users', '', administrator)).length;
  const next = async (query: string) => (await get(`/users?fields=id&${query}`, administrator)).json().meta.next_cursor;
  t.equal(await next(`meta=cursor&limit=${total}`), null);
  t.type(await next(`meta=cursor&limit=${total - 1}`), 'string');
  t.equal(await next('meta=cursor&limit=-1'), null);
  t.equal(await next('meta=cursor&limit=5&filter[email]=nobody@example.com'), null);
  t.notOk('next_cursor' in (await get('/users?meta=*', administrator)).json().meta);
  t.same(Object.keys((await get('/users?meta=cursor,filter_count', administrator)).json().meta).sort(), [
    'filter_count',
    'next_cursor',
  ]);
  const start = await next('meta=cursor&limit=0');
  const first = await get(`/users?fields=id&limit=2&cursor=${start}`, administrator);
  t.strictSame(
    first.json().data.map(({ id }: { id: string }) => id),
    (await listed('/users', '', administrator)).slice(0, 2),
    'the cursor of an empty page leads to the first row',
  );
  t.equal((await get('/users/me?fields=id&meta=cursor', administrator)).json().meta.next_cursor, null);
});

t.test('a cursor reveals nothing, and only the service can create one', async (t) => {
  const ask = (query: string, headers = administrator) => get(`/users?fields=id&limit=3&${query}`, headers);
  const { next_cursor: cursor } = (await ask('meta=cursor&sort=email')).json().meta;
  t.notMatch(Buffer.from(cursor.split('.').at(-1), 'base64url').toString('latin1'), /example/);
  t.notMatch(cursor, /example/);
  const encoded = encodeURIComponent(cursor);
  t.equal((await ask(`sort=email&cursor=${encoded}`)).statusCode, 200);
  t.equal(
    (await get(`/users?sort=email&limit=9&filter[title]=open&cursor=${encoded}`, administrator)).statusCode,
    200,
    'a cursor works with another filter and limit',
  );
  const last = cursor.at(-2) === 'A' ? 'B' : 'A';
  const altered = `${cursor.slice(0, -2)}${last}${cursor.at(-1)}`;
  const wrong = [
    `cursor=${encoded}`,
    `sort=-email&cursor=${encoded}`,
    `sort=email,id&cursor=${encoded}`,
    `sort=email&page=1&cursor=${encoded}`,
    `sort=email&offset=0&cursor=${encoded}`,
    `sort=email&cursor=${altered}`,
    `sort=email&cursor=x`,
    `sort=email&cursor=${'x.'.repeat(2000)}`,
    `sort=email&cursor[]=${encoded}`,
    `sort=email&cursor=${encoded}&cursor=${encoded}`,
    `aggregate[count]=*&cursor=${encoded}`,
    'aggregate[count]=*&meta=cursor',
  ];
  for (const query of wrong) t.equal(codeOf(await ask(query)), 'INVALID_QUERY', query.slice(0, 80));
  t.equal(
    codeOf(await get(`/roles?sort=email&cursor=${encoded}`, administrator)),
    'FORBIDDEN',
    'a cursor does not work for another collection',
  );
  const names = (await get('/roles?limit=1&sort=id&meta=cursor', administrator)).json().meta.next_cursor;
  t.equal(codeOf(await ask(`sort=id&cursor=${names}`)), 'INVALID_QUERY');
  const body = { query: { sort: ['email'], cursor, limit: 3, fields: ['id'] } };
  const search = await request({ method: 'SEARCH', url: '/users', headers: administrator, payload: body });
  t.strictSame(search.json().data, (await ask(`sort=email&cursor=${encoded}`)).json().data, 'the same with SEARCH');
});

t.test('a list that is truncated at the maximum has a link to the next page', async (t) => {
  const policy = await createPolicy(capped.app, { adminAccess: true });
  await createUser(capped.app, { token: 'token-of-an-administrator', policies: [policy] });
  for (let count = 0; count < 15; count++) await createUser(capped.app, { title: 'cut off' });
  const ids: string[] = [];
  let url: string | undefined =
    '/users?limit=-1&fields[]=id&filter[title][_eq]=cut%20off&access_token=token-of-an-administrator';
  let pages = 0;
  while (url !== undefined) {
    const response = await capped.get(url, pages === 0 ? {} : administrator);
    t.equal(response.statusCode, 200, response.body);
    ids.push(...response.json().data.map(({ id }: { id: string }) => id));
    t.notOk(response.json().meta, 'no metadata unless requested');
    const link = response.headers.link === undefined ? undefined : String(response.headers.link);
    if (link) t.match(link, /^<https:\/\/id\.example\.com\/users\?[^>]*cursor=[^>]*>; rel="next"$/);
    if (link) t.notMatch(link, /token-of/, 'the token is not repeated');
    url = link === undefined ? undefined : /^<https:\/\/id\.example\.com([^>]*)>/.exec(link)?.[1];
    pages++;
  }
  t.equal(pages, 3);
  t.equal(new Set(ids).size, 15);
  t.notOk((await capped.get('/users?limit=7', administrator)).headers.link, 'no link if the limit was requested');
  t.notOk((await capped.get('/users?limit=-1&filter[title]=none', administrator)).headers.link);
  const search = await capped.request({
    method: 'SEARCH',
    url: '/users',
    headers: administrator,
    payload: { query: { limit: -1 } },
  });
  t.match(search.headers.link, /^<https:\/\/id\.example\.com\/users\?cursor=[^>]*>; rel="next"$/);
});

t.test('a page at any depth takes as long as the first', async (t) => {
  await app.db.execute(
    sql`insert into ${users} (email, last_name) select i || '@deep.example.com', 'deep' from generate_series(1, 20000) i`,
  );
  await app.db.execute(sql`analyze ${users}`);
  const [{ id: deep } = { id: '' }] = (await get('/users?fields=id&sort=-id&limit=1&offset=150', administrator)).json()
    .data;
  const first = (await get('/users?fields=id&limit=100&meta=cursor', administrator)).json().meta.next_cursor;
  // The cursor of a row near the end, from a list without other rows before it.
  const statement = 'limit=100&meta=cursor&fields=id';
  const { next_cursor: last } = (
    await request({
      method: 'SEARCH',
      url: '/users',
      headers: administrator,
      payload: {
        query: {
          limit: 1,
          fields: ['id'],
          meta: ['cursor'],
          filter: { _or: [{ id: deep }, { id: (await listed('/users', 'sort=-id', administrator))[0] }] },
        },
      },
    })
  ).json().meta;
  const median = async (query: string) => {
    const times: number[] = [];
    for (let count = 0; count < 15; count++) {
      const start = performance.now();
      t.equal((await get(`/users?${statement}${query}`, administrator)).json().data.length, 100);
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[7] ?? 0;
  };
  const [shallow, far] = [await median(`&cursor=${first}`), await median(`&cursor=${last}`)];
  t.ok(far < 2 * shallow + 5, `${far.toFixed(1)} ms instead of ${shallow.toFixed(1)} ms`);
});
