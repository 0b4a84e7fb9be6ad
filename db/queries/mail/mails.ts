import { sql } from 'drizzle-orm';
import type { Mail, MailLimit, MailState } from '../../../schemas/mails.js';
import type { Executor } from '../../client.js';
import type { DatabaseSchemas } from '../../database-schemas.js';
import { rows } from '../../statements.js';

export interface QueuedMail {
  id: string;
  kind: Mail['kind'];
  state: MailState;
  user: string | null;
  email: string | null;
  attempts: number;
  created_at: Date;
  next_attempt_at: Date | null;
  limit: MailLimit | null;
  reason: string | null;
}

/** Maps the state of a job to the state of an email. A job that was completed with a reason was dropped (`DroppedMail`). */
const stateName = sql.raw(`case when state in ('created', 'retry') then 'waiting' when state = 'active' then 'sending'
  when state = 'completed' then case when output ->> 'reason' is null then 'sent' else 'dropped' end else 'failed' end as state`);

/** The number of emails in each state except `sent`, and when the oldest email that is still to be sent was queued. */
export async function countQueuedMails(
  executor: Executor,
  { queue }: Pick<DatabaseSchemas, 'queue'>,
): Promise<{ states: Record<string, number>; oldest: Date | null }> {
  const found = await rows<{ state: string; count: number; oldest: number }>(
    executor,
    sql`select ${stateName}, count(*)::int as count, (extract(epoch from min(created_on)) * 1000)::int8 as oldest
    from ${sql.identifier(queue)}.job where name = 'mail' and state <> 'completed' group by 1`,
  );
  const counts = Object.fromEntries(found.map(({ state, count }) => [state, count]));
  const unsent = found.filter(({ state }) => state !== 'failed').map(({ oldest }) => oldest);
  return {
    states: { waiting: 0, sending: 0, failed: 0, ...counts },
    oldest: unsent.length > 0 ? new Date(Math.min(...unsent)) : null,
  };
}

/** Emails in the queue, newest first. @param state null: all states */
export async function readQueuedMails(
  executor: Executor,
  { queue }: Pick<DatabaseSchemas, 'queue'>,
  state: QueuedMail['state'] | null,
  limit: number,
): Promise<QueuedMail[]> {
  const found = await rows<
    Omit<QueuedMail, 'created_at' | 'next_attempt_at'> & { created: number; next: number | null }
  >(
    executor,
    sql`select * from (
      select id, data ->> 'kind' as kind, data ->> 'user' as "user", data ->> 'email' as email,
        ${stateName},
        -- The queue increments its count only when the next attempt starts.
        retry_count + (started_on is not null and state in ('retry', 'failed'))::int as attempts,
        (extract(epoch from created_on) * 1000)::int8 as created,
        case when state in ('created', 'retry') then (extract(epoch from start_after) * 1000)::int8 end as next,
        case when state = 'completed' then output ->> 'limit' end as "limit",
        output ->> 'reason' as reason
      from ${sql.identifier(queue)}.job where name = 'mail'
    ) mails
    where ${state}::text is null or state = ${state}::text
    order by created desc, id limit ${limit}`,
  );
  return found.map(({ created, next, ...mail }) => ({
    ...mail,
    created_at: new Date(created),
    next_attempt_at: next === null ? null : new Date(next),
  }));
}
