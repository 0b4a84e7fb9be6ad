import { type SQL, sql } from 'drizzle-orm';
import type { Mail, MailLimit, MailState } from '../../../schemas/mails.js';
import type { Executor } from '../../client.js';
import type { DatabaseSchemas } from '../../database-schemas.js';
import { ruledCollections } from '../../query-language/collections.js';
import { ruleConditions } from '../../query-language/compile.js';
import type { Filter } from '../../query-language/filter.js';
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

/** The jobs whose emails are in a state. A job that was completed with a reason was dropped (`DroppedMail`). */
const inState = {
  waiting: sql`state in ('created', 'retry')`,
  sending: sql`state = 'active'`,
  sent: sql`state = 'completed' and output ->> 'reason' is null`,
  dropped: sql`state = 'completed' and output ->> 'reason' is not null`,
  failed: sql`state not in ('created', 'retry', 'active', 'completed')`,
} satisfies Record<MailState, SQL>;

const stateName = sql`case when ${inState.waiting} then 'waiting' when ${inState.sending} then 'sending'
  when ${inState.sent} then 'sent' when ${inState.dropped} then 'dropped' else 'failed' end as state`;

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

/** The recipient of a job. Null if only an address is known so far. */
const userOfJob = sql.raw(`(data ->> 'user')::uuid`);

/** The job table as emails, with the columns of the collection. */
const mailsIn = (queue: string, condition: SQL) => sql`select id, data ->> 'kind' as kind, ${userOfJob} as "user",
    data ->> 'email' as email, ${stateName},
    -- The queue increments its count only when the next attempt starts.
    retry_count + (started_on is not null and state in ('retry', 'failed'))::int as attempts,
    created_on as created_at,
    case when state in ('created', 'retry') then start_after end as next_attempt_at,
    case when state = 'completed' then output ->> 'limit' end as "limit",
    output ->> 'reason' as reason
  from ${sql.identifier(queue)}.job where name = 'mail' and ${condition}`;

/** Rules for emails. An email must match at least one. Null matches all emails. */
type MailRules = readonly (Filter | null)[];

const conditionsOf = (rules: MailRules) => ruleConditions(ruledCollections.mails, 'mails', rules);

/** Which emails a caller requests. */
export interface MailSelection {
  /** Null: in all states. */
  state: MailState | null;
  /** Null: to anyone. */
  user: string | null;
  limit: number;
}

/**
 * Emails in the queue, newest first.
 * @param rules which emails may be read
 * @param writable which emails may be written
 * @returns the emails. `matching` says which of the rules to read each one matches
 */
export async function readQueuedMails(
  executor: Executor,
  { queue }: Pick<DatabaseSchemas, 'queue'>,
  { state, user, limit }: MailSelection,
  rules: MailRules,
  writable: MailRules,
): Promise<(QueuedMail & { matching: boolean[]; isWritable: boolean })[]> {
  const { any, each } = conditionsOf(rules);
  const ofUser = user === null ? sql`true` : sql`${userOfJob} = ${user}::uuid`;
  const wanted = state === null ? ofUser : sql`${ofUser} and ${inState[state]}`;
  const found = await rows<
    Omit<QueuedMail, 'created_at' | 'next_attempt_at'> & {
      created: number;
      next: number | null;
      matching: boolean[];
      isWritable: boolean;
    }
  >(
    executor,
    sql`select id, kind, "user", email, state, attempts, "limit", reason,
      (extract(epoch from created_at) * 1000)::int8 as created, (extract(epoch from next_attempt_at) * 1000)::int8 as next,
      ${each} as matching, ${conditionsOf(writable).any} as "isWritable"
    from (${mailsIn(queue, wanted)}) mails
    where ${any} order by created_at desc, id limit ${limit}`,
  );
  return found.map(({ created, next, ...mail }) => ({
    ...mail,
    created_at: new Date(created),
    next_attempt_at: next === null ? null : new Date(next),
  }));
}

/** The user whom an email is for, and which of the rules it matches. @returns undefined if there is no such email */
export async function findQueuedMail(
  executor: Executor,
  { queue }: Pick<DatabaseSchemas, 'queue'>,
  id: string,
  rules: MailRules,
): Promise<{ user: string | null; matching: boolean[] } | undefined> {
  const [found] = await rows<{ user: string | null; matching: boolean[] }>(
    executor,
    sql`select "user", ${conditionsOf(rules).each} as matching from (${mailsIn(queue, sql`id = ${id}::uuid`)}) mails`,
  );
  return found;
}

/** Stores the recipient of an email that was requested for an address, once the user has been looked up. */
export async function storeRecipient(
  executor: Executor,
  { queue }: Pick<DatabaseSchemas, 'queue'>,
  id: string,
  user: string,
): Promise<void> {
  await rows(
    executor,
    sql`update ${sql.identifier(queue)}.job set data = data || jsonb_build_object('user', ${user}::text)
      where name = 'mail' and id = ${id}::uuid`,
  );
}

/** By which the emails to one user are found, and the newest ones. */
const indexes = {
  mail_user_index: sql`((${userOfJob}))`,
  mail_time_index: sql`(created_on desc, id)`,
};

/** Creates the indexes for the lists of emails. While this runs, no emails can be queued. */
export async function ensureMailIndexes(db: Executor, { queue }: Pick<DatabaseSchemas, 'queue'>): Promise<void> {
  const schema = sql.identifier(queue);
  // Each kind of job has a partition of its own, whose name only pg-boss knows. `if not exists` would lock it at every start.
  const [found] = await rows<{ partition: string; existing: string[] }>(
    db,
    sql`select partition_name as partition, array(select indexname::text from pg_indexes where schemaname = ${queue}) as existing
      from ${schema}.queue where name = 'mail'`,
  );
  for (const [name, columns] of Object.entries(indexes)) {
    if (!found || found.existing.includes(name)) continue;
    await rows(
      db,
      sql`create index ${sql.identifier(name)} on ${schema}.${sql.identifier(found.partition)} ${columns}`,
    );
  }
}
