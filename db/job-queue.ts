import PgBoss from 'pg-boss';
import type { DatabaseConnection, Executor } from './client.js';
import { oneAtATime } from './migrate.js';

/** A piece of work that waits in the database until somebody has done it. */
export interface Job<Data extends object> {
  id: string;
  data: Data;
  /** 1 for the first attempt. */
  attempt: number;
}

export interface QueueOptions {
  /** Attempts after the first. */
  retryLimit: number;
  /** Seconds before the second attempt; twice as long before each further one, and up to as much again by chance. */
  retryDelay: number;
  /** Seconds after which an attempt that nobody has ended counts as failed: its process is gone. */
  expireInSeconds: number;
}

/** Jobs are taken by priority, then by age. */
export type JobPriority = keyof typeof priorities;
const priorities = { normal: 0, low: -1 };

export interface JobQueue<Data extends object> {
  /** Makes the tables of the queue, if they are not there yet, and begins to keep them in order. */
  start(): Promise<void>;
  /** Puts a job into the queue, in the transaction of what it is about. */
  send(tx: Executor, data: Data): Promise<void>;
  /** The same for many jobs, in one statement. */
  sendAll(tx: Executor, list: readonly Data[], priority?: JobPriority): Promise<void>;
  /** Takes up to `count` jobs; nobody else gets them. */
  take(count: number): Promise<Job<Data>[]>;
  complete(id: string): Promise<void>;
  /** The job is tried again later, or, after the last attempt, kept with its reason. */
  fail(id: string, reason: string): Promise<void>;
  /** Puts a job that was given up into the queue again, in a transaction. @returns whether there was such a job */
  retry(tx: Executor, id: string): Promise<boolean>;
  stop(): Promise<void>;
}

const day = 86_400;

/** What was under way is due again at once: it has not failed, its process has. */
const takeBackAll = `update pgboss.job set state = 'retry', start_after = now() where state = 'active'`;

/**
 * A queue in the database itself (pg-boss), on either engine. Any number of processes share it; a job is lost with none
 * of them.
 * @param onError told of what goes wrong in the upkeep of the tables
 */
export function createJobQueue<Data extends object>(
  connection: DatabaseConnection,
  name: string,
  options: QueueOptions,
  onError: (error: unknown) => void,
): JobQueue<Data> {
  const sqlOf = (executor: Executor): PgBoss.Db => ({
    executeSql: async (text: string, values?: unknown[]) =>
      values === undefined ? connection.runScript(text) : { rows: await runStatement(executor, text, values) },
  });
  const boss = new PgBoss({
    db: sqlOf(connection.db),
    schedule: false,
    maintenanceIntervalSeconds: Math.min(60, options.expireInSeconds),
    archiveCompletedAfterSeconds: 3_600,
    archiveFailedAfterSeconds: 90 * day,
    deleteAfterDays: 1,
  });
  boss.on('error', onError);

  return {
    start: () =>
      oneAtATime(connection, async () => {
        await boss.start();
        // Of the units that pg-boss takes for a single job, a queue knows this one only.
        const queue = { name, ...options, retryBackoff: true, retentionMinutes: (30 * day) / 60 };
        await boss.createQueue(name, queue);
        await boss.updateQueue(name, queue);
        // What was left behind by a process that is gone by now: on the embedded engine all of it.
        if (connection.engine === 'embedded') await connection.runScript(takeBackAll);
        else await boss.expire();
      }),
    send: async (tx, data) => {
      const id = await boss.send(name, data, { db: sqlOf(tx) });
      if (id === null) throw new Error(`A job for ${name} was not taken.`);
    },
    sendAll: async (tx, list, priority = 'normal') => {
      const jobs = list.map((data) => ({ name, data, priority: priorities[priority] }));
      if (jobs.length > 0) await boss.insert(jobs, { db: sqlOf(tx) });
    },
    take: async (count) => {
      const jobs = await boss.fetch<Data>(name, { batchSize: count, includeMetadata: true });
      return jobs.map(({ id, data, retryCount }) => ({ id, data, attempt: retryCount + 1 }));
    },
    complete: (id) => boss.complete(name, id),
    fail: (id, reason) => boss.fail(name, id, { reason }),
    retry: async (tx, id) => {
      const { affected } = (await boss.retry(name, id, { db: sqlOf(tx) })) as unknown as { affected: number };
      return affected > 0;
    },
    stop: () => boss.stop({ graceful: false }),
  };
}

/** What the drivers have in common below Drizzle, which does not pass a finished statement with its parameters on. */
interface RawClient {
  unsafe?(text: string, values: unknown[]): Promise<unknown[]>;
  query?(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Runs a statement with `$1`, `$2`, … in it, in a transaction if the executor is one. */
async function runStatement(executor: Executor, text: string, values: readonly unknown[]): Promise<unknown[]> {
  const { client } = (executor as unknown as { session: { client: RawClient } }).session;
  const parameters = values.map(written);
  if (client.unsafe) return [...(await client.unsafe(text, parameters))];
  return (await client.query?.(text, parameters))?.rows ?? [];
}

/** Lists and objects as PostgreSQL writes them. The only lists here are of UUIDs. */
function written(value: unknown): unknown {
  if (value === undefined) return null;
  if (Array.isArray(value)) return `{${value.join(',')}}`;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
