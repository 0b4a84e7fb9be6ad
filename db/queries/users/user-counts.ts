import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { fixedStatement } from '../../fixed-statement.js';
import { userCounts } from '../../schema.js';

const sum = fixedStatement<Record<string, never>, { count: number }>(
  () => sql`select coalesce(sum(change), 0)::float8 as count from ${userCounts}`,
);

/** How many users there are, exactly, and without counting them. */
export async function countAllUsers(executor: Executor): Promise<number> {
  const [found] = await sum(executor, {});
  return found?.count ?? 0;
}

/** Makes one row of those that {@link countAllUsers} adds up. Any number of instances may do it at once. */
export async function sumUpUserCounts(executor: Executor): Promise<void> {
  // Of two at once, the later one finds the rows gone that the other has deleted, and adds up the rest.
  await executor.execute(sql`
    with summed as (delete from ${userCounts} where (select count(*) from ${userCounts}) > 1 returning change)
    insert into ${userCounts} (change) select sum(change) from summed having count(*) > 0`);
}
