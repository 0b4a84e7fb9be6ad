import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import type { DatabaseSchemas } from '../../database-schemas.js';
import { rows } from '../../statements.js';

type QueueSchema = Pick<DatabaseSchemas, 'queue'>;

/** Makes all interrupted jobs due again immediately: the jobs have not failed, their process has. */
export async function requeueActiveJobs(executor: Executor, { queue }: QueueSchema): Promise<void> {
  const table = sql`${sql.identifier(queue)}.job`;
  await rows(executor, sql`update ${table} set state = 'retry', start_after = now() where state = 'active'`);
}

/** Makes the current attempt of a job its last one. */
export async function endRetries(
  executor: Executor,
  { queue }: QueueSchema,
  { name, id }: { name: string; id: string },
): Promise<void> {
  await rows(
    executor,
    sql`update ${sql.identifier(queue)}.job set retry_limit = retry_count
      where name = ${name} and id = ${id} and state = 'active'`,
  );
}
