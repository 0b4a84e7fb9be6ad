// @suite not-everyday: waits for work in the background

import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import t from 'tap';
import { deleteExpiredSessions } from '../../db/queries/sessions/sessions.js';
import { sessions, users, userUses } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { createTestDatabase } from '../helpers/database/databases.js';
import { watchPlans } from '../helpers/database/plans.js';
import { hearStatements, type Sent, withValues } from '../helpers/database/statements.js';
import { asAdmin, remove, startWithAdmin } from '../helpers/http/writing.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { startTestApp } from '../helpers/service/app.js';
import { day } from '../helpers/service/clock.js';
import { logIn, refresh, sessionOf } from '../helpers/users/sessions.js';
import { createUser, lastAccessOf } from '../helpers/users/users.js';

/** Logins and refreshes are the most frequent writes. They must not write the rows of users, or entries in their indexes. */

interface Updates {
  all: number;
  hot: number;
}

// A new database, because the statistics of a reused one include earlier tests.
const database = await createTestDatabase();
atEndOf(t, database.drop);
const service = await startTestApp(t, {}, { database: database.location });
const { app, clock } = service;

async function updatesOf(table: string): Promise<Updates> {
  const [found] = await rows<Updates>(
    app.db,
    sql`select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = ${table}`,
  );
  return found ?? { all: Number.NaN, hot: Number.NaN };
}

/** Waits until the statistics include at least this number of updates of a table. */
async function waitForUpdates(table: string, count: number): Promise<Updates> {
  for (let tries = 0; tries < 1500; tries++) {
    await app.db.execute(sql`select pg_stat_force_next_flush()`);
    const updates = await updatesOf(table);
    if (updates.all >= count) return updates;
    await sleep(20);
  }
  return updatesOf(table);
}

t.test('logins and refreshes update no user, and what they update needs no entry in an index', async (t) => {
  const people = await Promise.all(Array.from({ length: 10 }, () => createUser(app)));
  const before = await updatesOf('users');
  const refreshes = 30;
  for (const person of people) {
    let session = await logIn(service, 'json', person);
    for (let count = 0; count < refreshes; count++) {
      clock.advance(1);
      session = sessionOf('json', await refresh(service, session));
    }
  }
  const ofSessions = await waitForUpdates('sessions', people.length * refreshes);
  t.equal(ofSessions.all, people.length * refreshes);
  t.ok(ofSessions.hot >= 0.9 * ofSessions.all, `sessions: ${ofSessions.hot} of ${ofSessions.all}`);
  const ofUses = await waitForUpdates('user_uses', 2 * people.length);
  // The first use of a user creates an entry in the index. Uses within a tenth of a second are one update.
  t.ok(ofUses.hot >= ofUses.all - people.length - 2, `user_uses: ${ofUses.hot} of ${ofUses.all}`);
  t.strictSame(await updatesOf('users'), before, 'users');
});

t.test('expired sessions are deleted in parts, by their day', async (t) => {
  const [gone, kept] = [await createUser(app), await createUser(app)];
  const now = clock.now();
  const values = (user: string, expiresAt: Date) => ({ user, expiresAt, createdAt: now, lastUsedAt: now });
  await app.db.insert(sessions).values(values(kept.id, new Date(now.getTime() + 1)));
  await app.db.insert(sessions).values(values(kept.id, new Date(now.getTime() + day)));
  await app.db
    .insert(sessions)
    .values([1, 1000, day, 400 * day].map((ago) => values(gone.id, new Date(now.getTime() - ago))));
  await app.db.execute(sql`insert into sessions ("user", created_at, last_used_at, expires_at)
    select ${gone.id}, now(), now(), ${new Date(now.getTime() - day).toISOString()}::timestamptz from generate_series(1, 5010)`);
  const sent: string[] = [];
  const stop = hearStatements(app, ({ text }) => sent.push(text));
  const plans = watchPlans(app);
  await plans.during(() => deleteExpiredSessions(app.db, now, null));
  stop();
  await t.resolves(plans.check());
  plans.stop();
  t.equal(sent.filter((text) => /^with ended as \(delete/.test(text)).length, 2);
  t.equal(await app.db.$count(sessions, eq(sessions.user, gone.id)), 0);
  t.equal(await app.db.$count(sessions, eq(sessions.user, kept.id)), 2);
});

t.test('a user has a row in user_uses from creation to deletion', async (t) => {
  const [row] = await app.db.insert(users).values({ email: 'new@example.com' }).returning();
  const id = row?.id ?? '';
  t.equal(await lastAccessOf(app, id), null);
  await app.db.delete(users).where(eq(users.id, id));
  t.equal(await app.db.$count(userUses, eq(userUses.user, id)), 0);
});

t.test('administrators write last_access like any other field', async (t) => {
  const service = await startWithAdmin(t);
  const { get, request } = service;
  const headers = asAdmin;
  const send = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
    const response = await request({ method, url, headers, payload });
    t.equal(response.statusCode, 200, response.body);
    return response.json().data;
  };
  const read = async (id: string) => (await get(`/users/${id}?fields=last_access,title`, headers)).json().data;
  const [first, second] = ['2030-01-02T03:04:05.678Z', '2031-01-02T03:04:05.678Z'];
  const made = await send('POST', '/users', {
    email: 'one@example.com',
    password: 'a password of one',
    last_access: first,
  });
  t.equal(made.last_access, first);
  const both = await send('POST', '/users', [
    { email: 'two@example.com', password: 'a password of two', last_access: second },
    { email: 'three@example.com', password: 'a password of three', title: 'none' },
  ]);
  t.strictSame(
    both.map(({ last_access }: { last_access: string }) => last_access),
    [second, null],
  );
  const ids = [made, ...both].map(({ id }) => id);
  await send('PATCH', '/users', [
    { id: ids[0], last_access: null },
    { id: ids[1], title: 'only a title' },
    { id: ids[2], last_access: first, title: 'both' },
  ]);
  t.strictSame(await Promise.all(ids.map(read)), [
    { last_access: null, title: null },
    { last_access: second, title: 'only a title' },
    { last_access: first, title: 'both' },
  ]);
  await send('PATCH', `/users/${ids[0]}`, { last_access: second });
  t.equal((await read(ids[0])).last_access, second);
  const sorted = (await get('/users?sort=-last_access,email&fields=email', headers)).json().data;
  t.strictSame(
    sorted.map(({ email }: { email: string }) => email).filter((email: string) => !email.startsWith('admin')),
    ['one@example.com', 'two@example.com', 'three@example.com'],
  );
  t.equal((await remove(service, `/users/${ids[0]}`)).statusCode, 204);
});

t.test('a list sorted by last_access reads only a page and the users of one hour', async (t) => {
  const { app, get } = await startWithAdmin(t);
  await app.db.execute(
    sql`insert into users (email) select 'never' || n || '@example.com' from generate_series(1, 3000) n`,
  );
  await app.db.execute(sql`update user_uses set last_access = timestamptz '2030-01-01 00:00Z' + n * interval '10 minutes'
    from (select id, row_number() over (order by email desc) as n from users where email like 'never%' limit 2500) u where "user" = u.id`);
  await app.databaseConnection.runScript('analyze');
  for (const query of [
    'sort=-last_access',
    'sort=-last_access&filter={"last_access":{"_nnull":true}}',
    'sort=last_access&filter={"last_access":{"_gte":"2030-01-05"}}',
  ]) {
    const sent: Sent[] = [];
    const stop = hearStatements(app, (statement) => sent.push(statement));
    const response = await get(`/users?limit=25&fields=id,last_access&${query}`, asAdmin);
    stop();
    t.equal(response.json().data.length, 25, query);
    const list = sent.find(({ text }) => text.includes('"t0"'));
    const explain = `explain (analyze, timing off, format json) ${list && withValues(list)}`;
    const plan = JSON.stringify(await rows(app.db, sql.raw(explain)));
    t.match(plan, /user_uses_order_index/, query);
    const read = [...plan.matchAll(/Actual Rows\\?":\s*(\d+)/g)].map(([, count]) => Number(count));
    t.ok(read.length > 0 && Math.max(...read) <= 100, `${query}: at most ${Math.max(...read)} rows in a step`);
  }
});
