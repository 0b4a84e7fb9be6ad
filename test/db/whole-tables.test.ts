import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { activity, users } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { watchPlans } from '../helpers/database/plans.js';
import { hearStatements, type Sent, withValues } from '../helpers/database/statements.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

t.test('the plan watcher reports reads of an entire table that grows with the number of users', async (t) => {
  const { app, post } = await startTestApp(t);
  const plans = watchPlans(app);
  const readAgain = async (condition: ReturnType<typeof sql>) =>
    plans.during(() => app.db.transaction((tx) => tx.select({ id: users.id }).from(users).where(condition)));

  await readAgain(sql`lower(${users.email} collate "C") = ${'somebody@example.com'}`);
  await readAgain(sql`${users.id} = ${'00000000-0000-4000-8000-000000000000'}`);
  await t.resolves(plans.check(), 'these conditions have indexes');
  await readAgain(sql`lower(${users.email}) = ${'somebody@example.com'}`);
  await t.rejects(plans.check(), { message: /^Reads all of users: select "id" from "users" where lower/ });
  await readAgain(sql`${users.avatar} = ${'none'}`);
  await t.rejects(plans.check(), { message: /"avatar"/ });
  // PostgreSQL assumes that there is such a row, and scans the table for it.
  const ask = (statement: string) => plans.during(() => app.db.transaction((tx) => tx.execute(sql.raw(statement))));
  const newer = 'from activity where position > (select counted_position from activity_chain)';
  // An entry of the audit log, because the plan for an empty table is different.
  await post('/auth/login', { email: 'nobody@example.com', password: 'wrong' });
  await ask(`select (select position ${newer} order by position limit 1) is not null`);
  await t.resolves(plans.check(), 'the first row in the order of an index');
  await ask('select id from users order by title limit 1');
  await t.rejects(plans.check(), { message: /^Reads all of users: / }, 'the first row in another order');
  await ask(`select exists (select ${newer})`);
  await t.rejects(plans.check(), { message: /^Reads all of activity: / });
  await readAgain(sql`nothing_like_that = ${1}`).catch(() => {});
  await t.resolves(plans.check(), 'failed statements are not explained');
  plans.stop();
});

t.test('the latest events of a rare action are found without reading those of others', async (t) => {
  const { app, get, post } = await startTestApp(t);
  const headers = bearer((await post('/auth/login', administrator)).json().data.access_token);
  const event = { action: 'login', outcome: 'success' as const, seal: 'x' };
  for (let part = 0; part < 20; part++)
    await app.db
      .insert(activity)
      .values(Array.from({ length: 500 }, () => ({ ...event, id: randomUUID(), timestamp: new Date() })));
  await app.db.execute(sql`analyze activity`);
  const sent: Sent[] = [];
  const stop = hearStatements(app, (statement) => void sent.push(statement));
  const found = await get('/activity?filter[action]=password_reset&sort=-timestamp&limit=50', headers);
  stop();
  t.strictSame(found.json().data, []);
  const list = sent.find(({ text }) => text.includes('"activity" "t0"'));
  const plan = JSON.stringify(await rows(app.db, sql.raw(`explain ${list && withValues(list)}`)));
  t.match(plan, /activity_action_index/);
  t.notMatch(plan, /activity_timestamp_index|Seq Scan on activity/);
});
