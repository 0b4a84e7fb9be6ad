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

export interface TakenJob<Data extends object> {
  id: string;
  data: Data;
  retryCount: number;
  output: object | null;
}

/**
 * Claims the next job, like `fetch` of pg-boss, but none of which a member of the data has one of these values.
 * @returns undefined if no other job is due
 */
export async function takeJobExcept<Data extends object>(
  executor: Executor,
  { queue }: QueueSchema,
  { name, member, values }: { name: string; member: string; values: readonly string[] },
): Promise<TakenJob<Data> | undefined> {
  const table = sql`${sql.identifier(queue)}.job`;
  const [job] = await rows<TakenJob<Data>>(
    executor,
    sql`with next as (
        select id from ${table}
        where name = ${name} and state < 'active' and start_after < now()
          and coalesce(data ->> ${member}::text, '') <> all(array(select jsonb_array_elements_text(${JSON.stringify(values)}::jsonb)))
        order by priority desc, created_on, id limit 1 for update skip locked
      )
      update ${table} as job set state = 'active', started_on = now(),
        retry_count = case when started_on is not null then retry_count + 1 else retry_count end
      from next where job.name = ${name} and job.id = next.id
      returning job.id, job.data, job.retry_count as "retryCount", job.output`,
  );
  return job;
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
