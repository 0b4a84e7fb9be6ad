// @suite not-everyday: measures how long others wait

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { permissions, userPolicies, users } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { sampleOf } from '../helpers/runner/long.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

/** How expensive queries affect other callers. */

const { app, get, request } = await startTestApp(t);
const administrator = bearer('token-of-an-administrator');
const member = bearer('token-of-a-member-of-the-staff');
const honest = bearer('token-of-an-honest-user');
const [all, staff] = [await createPolicy(app, { adminAccess: true }), await createPolicy(app)];
for (const collection of ['users', 'roles', 'policies']) {
  await app.db.insert(permissions).values({ policy: staff, collection, action: 'read', fields: ['*'] });
}
const role = await createRole(app);
await createUser(app, { token: 'token-of-an-administrator', policies: [all] });
await createUser(app, { token: 'token-of-a-member-of-the-staff', policies: [staff] });
await createUser(app, { token: 'token-of-an-honest-user', policies: [staff] });
await app.db.execute(sql`insert into ${users} (email, first_name, last_name, title, role)
  select 'user-' || i || '@example.com', 'First ' || i, 'Last ' || i, 'many', ${role}::uuid from generate_series(1, 4000) i`);
await app.db.execute(
  sql`insert into ${userPolicies} ("user", policy) select id, ${staff}::uuid from ${users} where title = 'many'`,
);
await app.db.execute(sql`analyze`);
const lists = await get('/users?limit=5', honest);
t.equal(lists.statusCode, 200);

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
const containing = (index: number) => ({ first_name: { _icontains: `zz${index}` } });
const named = (index: number) => ({ name: { _icontains: `zz${index}` } });
const queries: Record<string, object> = {
  '990 conditions': { filter: { _or: times(990, containing) } },
  '50 conditions': { filter: { _or: times(50, containing) }, meta: '*' },
  '300 lists': { filter: { _or: times(300, (index) => ({ policies: { _some: named(index) } })) } },
  '300 lists of any': { filter: { _or: times(300, () => ({ policies: { _some: {} } })) } },
  '50 lists of users': { filter: { _or: times(50, (index) => ({ role: { users: { _some: containing(index) } } })) } },
  '40,000 values': {
    filter: { _or: times(10, (list) => ({ email: { _in: times(4_000, (index) => `${list}-${index}`) } })) },
  },
  'users of the role of each user': { fields: 'role.users.id', limit: -1 },
  'all of a role for each user': { fields: 'role.users.*', limit: -1 },
  'all users': { limit: -1 },
  'groups of one': { aggregate: { count: '*', min: 'email' }, groupBy: ['id', 'email', 'first_name'], limit: -1 },
  'a search': { search: 'First', sort: '-email', meta: '*' },
  'a sort by relations': { sort: times(20, () => 'role.parent.parent.parent.name').join() },
};

/** Processor time of this process in milliseconds, which excludes other processes on the machine. */
const worked = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/**
 * The longest time in milliseconds that one of many small requests waits while an administrator and a staff member send
 * this query.
 */
async function maxWait(t: Test, query: object): Promise<number> {
  let isOver = false;
  const ask = (headers: object) =>
    // Not sent with the test helper, because it validates responses, which takes time on this thread.
    app.inject({ method: 'SEARCH', url: '/users', headers: { ...headers }, payload: { query } });
  const asked = (async () => [await ask(administrator), await ask(member)])().finally(() => {
    isOver = true;
  });
  let longest = 0;
  // Continues until the expensive queries have finished. Otherwise, all small requests may be processed before the
  // first expensive query has started.
  for (let served = 0; served < 40 || !isOver; served++) {
    const [start, clock] = [worked(), performance.now()];
    // Arrives when the thread is free, like a request from a socket.
    await sleep(1);
    const response = await get('/users?limit=5&fields=id,email', honest);
    t.equal(response.statusCode, 200);
    // Other requests may have been processed in that time as well, so this is an upper limit.
    longest = Math.max(longest, Math.min(worked() - start, performance.now() - clock));
  }
  for (const response of await asked) {
    const outcome = response.statusCode === 200 ? 'OK' : `${response.statusCode} ${codeOf(response)}`;
    t.match(outcome, /^(OK|400 INVALID_QUERY|503 SERVICE_UNAVAILABLE)$/);
  }
  return longest;
}

for (const [name, query] of sampleOf(Object.entries(queries), 3)) {
  t.test(`while others request ${name}, forty small requests get responses`, async (t) => {
    const before = process.memoryUsage().rss;
    let longest = await maxWait(t, query);
    // A busy machine may occasionally be slow.
    if (engine === 'embedded' && longest >= 250) longest = Math.min(longest, await maxWait(t, query));
    if (engine === 'embedded') t.ok(longest < 250, `a small request waits ${Math.round(longest)} ms at most`);
    const grown = (process.memoryUsage().rss - before) / 2 ** 20;
    t.ok(grown < 500, `${Math.round(grown)} MB more`);
  });
}

t.test(
  'a query that is split into parts returns the same rows',
  { skip: engine === 'postgres' && 'embedded engine only' },
  async (t) => {
    const found = async (query: object) =>
      (await request({ method: 'SEARCH', url: '/users', headers: administrator, payload: { query } })).json();
    // Without indexes, rows are found in the order in which they are stored.
    await app.db.execute(sql`set enable_indexscan = off`);
    await app.db.execute(sql`set enable_indexonlyscan = off`);
    t.teardown(() => app.db.execute(sql`reset all`));
    const few = { _or: [{ first_name: { _ends_with: '7' } }, { first_name: { _ends_with: '177' } }] };
    const many = { _or: [...few._or, ...times(60, containing)] };
    for (const more of [
      {},
      { sort: '-email' },
      { limit: 2, offset: 1 },
      { limit: 3, meta: '*' },
      { limit: 2, meta: 'cursor' },
      { limit: -1 },
    ]) {
      const [one, other] = [
        await found({ filter: few, fields: 'email', ...more }),
        await found({ filter: many, fields: 'email', ...more }),
      ];
      t.ok(one.data.length > 0);
      t.strictSame(other.data, one.data, JSON.stringify(more));
      t.strictSame({ ...other.meta, next_cursor: 0 }, { ...one.meta, next_cursor: 0 });
    }
    const count = { aggregate: { count: '*' } };
    t.strictSame(await found({ filter: many, ...count }), await found({ filter: few, ...count }));
  },
);
