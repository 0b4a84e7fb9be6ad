import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import postgres from 'postgres';
import t from 'tap';
import { sessions } from '../../db/schema.js';
import { engine } from '../helpers/database/databases.js';
import { captureTimers } from '../helpers/measurements/intervals.js';
import { bearer, codeOf, startTestApp } from '../helpers/service/app.js';
import { day, hour } from '../helpers/service/clock.js';
import { createPolicy } from '../helpers/users/rights.js';
import { createUser } from '../helpers/users/users.js';

const skip = engine === 'embedded' && 'PostgreSQL only';

t.test(
  'PostgreSQL cancels a query that takes too long, and other requests get responses in the meantime',
  { skip },
  async (t) => {
    const { app, database, request, get } = await startTestApp(t, { QUERY_TIMEOUT: '1500ms' });
    const all = await createPolicy(app, { adminAccess: true });
    await createUser(app, { token: 'token-of-an-administrator', policies: [all] });
    await createUser(app, { token: 'token-of-another-administrator', policies: [all] });
    const other = bearer('token-of-another-administrator');
    await get('/users/me', bearer('token-of-an-administrator'));
    await get('/users/me', other);

    // Reading the audit log waits for this lock.
    const holder = postgres(database.url ?? '', { max: 1, onnotice: () => {} });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const locked = new Promise<void>((resolve) => {
      void holder.begin(async (tx) => {
        await tx`lock table activity in access exclusive mode`;
        resolve();
        await held;
      });
    });
    await locked;
    const start = performance.now();
    const stuck = Array.from({ length: 10 }, () =>
      request({ method: 'GET', url: '/activity', headers: bearer('token-of-an-administrator') }),
    );
    for (let served = 0; served < 40; served++) {
      const before = performance.now();
      t.equal((await get('/users?limit=5', other)).statusCode, 200);
      const took = performance.now() - before;
      if (took > 1_000) t.fail(`another request waits ${Math.round(took)} ms`);
    }
    t.ok(performance.now() - start < 1_500, 'forty other requests finish while ten wait');
    for (const response of await Promise.all(stuck)) {
      t.equal(response.statusCode, 503);
      t.equal(codeOf(response), 'SERVICE_UNAVAILABLE');
      t.match(response.json().errors[0].extensions, { service: 'database' });
      t.ok(response.headers['retry-after']);
    }
    const [left] = (await app.db.execute(sql`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)) as unknown as {
      count: number;
    }[];
    t.equal(left?.count, 0, 'PostgreSQL no longer runs any of them');
    release();
    await holder.end();
    t.equal((await get('/activity', other)).statusCode, 200);
  },
);

t.test('QUERY_TIMEOUT applies to requests, but not to the hourly cleanup', { skip }, async (t) => {
  const runScheduled = captureTimers(t, hour);
  const { app, clock, post } = await startTestApp(t, { QUERY_TIMEOUT: '500ms' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const user = await createUser(app);
  const { refresh_token } = (await post('/auth/login', user)).json().data;
  await app.db.execute(sql`
    create function dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(2); return null; end $$`);
  await app.db.execute(
    sql`create trigger dawdle before delete on sessions for each statement execute function dawdle()`,
  );
  t.equal(codeOf(await post('/auth/logout', { refresh_token })), 'SERVICE_UNAVAILABLE', 'a request is cancelled');
  t.equal(await app.db.$count(sessions), 1);
  clock.advance(100 * day);
  runScheduled();
  const until = Date.now() + 30_000;
  while ((await app.db.$count(sessions)) > 0 && Date.now() < until) await sleep(100);
  t.equal(await app.db.$count(sessions), 0, 'the expired session is deleted');
});
