import { sql } from 'drizzle-orm';
import t from 'tap';
import { users } from '../../db/schema.js';
import { watchPlans } from '../helpers/database/plans.js';
import { startTestApp } from '../helpers/service/app.js';

t.test('the plan watcher reports reads of an entire table that grows with the number of users', async (t) => {
  const { app } = await startTestApp(t);
  const plans = watchPlans(app);
  const readAgain = async (condition: ReturnType<typeof sql>) =>
    plans.during(() => app.db.transaction((tx) => tx.select({ id: users.id }).from(users).where(condition)));

  await readAgain(sql`lower(${users.email} collate "C") = ${'somebody@example.com'}`);
  await readAgain(sql`${users.id} = ${'00000000-0000-4000-8000-000000000000'}`);
  await t.resolves(plans.check(), 'these conditions have indexes');
  await readAgain(sql`lower(${users.email}) = ${'somebody@example.com'}`);
  await t.rejects(plans.check(), { message: /^Reads all of users: select "id" from "users" where lower/ });
  await readAgain(sql`${users.lastName} = ${'Nobody'}`);
  await t.rejects(plans.check(), { message: /"last_name"/ });
  await readAgain(sql`nothing_like_that = ${1}`).catch(() => {});
  await t.resolves(plans.check(), 'failed statements are not explained');
  plans.stop();
});
