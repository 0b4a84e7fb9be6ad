import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { userCounts } from '../../schema.js';
import { fixedStatement } from '../../statements.js';

const sum = fixedStatement<Record<string, never>, { count: number }>(
  () => sql`select coalesce(sum(change), 0)::int8 as count from ${userCounts}`,
);

/** The exact number of users, without counting them. */
export async function countAllUsers(executor: Executor): Promise<number> {
  const [found] = await sum(executor, {});
  return found?.count ?? 0;
}

/** Merges into one row the rows that {@link countAllUsers} adds up. Any number of instances may do this at the same time. */
export async function compactUserCounts(executor: Executor): Promise<void> {
  // When two instances do this at the same time, the later one skips the rows that the other has deleted, and adds up the rest.
  await executor.execute(sql`
    with summed as (delete from ${userCounts} where (select count(*) from ${userCounts}) > 1 returning change)
    insert into ${userCounts} (change) select sum(change) from summed having count(*) > 0`);
}
