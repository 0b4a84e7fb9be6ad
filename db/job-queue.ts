import PgBoss from 'pg-boss';
import type { DatabaseConnection, Executor } from './client.js';
import { isDatabaseUnavailable, sqlStateOf } from './failures.js';
import { endRetries, requeueActiveJobs, type TakenJob, takeJobExcept } from './queries/platform/jobs.js';
import { SchemaError } from './schema-error.js';
import { CompiledStatement, rows } from './statements.js';

/** The kinds of jobs. Each has its own table, which `npm run migrate` creates. */
export const jobKinds = ['mail', 'logout'] as const;

/** A task that waits in the database until a process has completed it. */
export interface Job<Data extends object> {
  id: string;
  data: Data;
  /** 1 for the first attempt. */
  attempt: number;
  /** Whether the previous attempt failed permanently. */
  hasFailedPermanently: boolean;
}

/** Why an attempt failed. */
export interface JobFailure {
  reason: string;
  /** Whether the cause is not expected to go away. One more attempt is made, in case it does. */
  isPermanent: boolean;
}

/** How jobs of one kind are repeated and kept. */
export interface QueueOptions {
  /** Attempts after the first. */
  retryLimit: number;
  /** Seconds before the second attempt. The delay doubles with each further attempt; a random delay of up to the same length is added. */
  retryDelay: number;
  /** Seconds after which an unfinished attempt counts as failed, because its process is gone. */
  expireInSeconds: number;
  /** Days after which a job that nobody has completed is dropped. */
  retentionDays: number;
}

/** Jobs are processed by priority, then by age. */
export type JobPriority = keyof typeof priorities;
const priorities = { normal: 0, low: -1 };

/** The jobs of one kind. */
export interface JobQueue<Data extends object> {
  /** Adds a job to the queue, in the same transaction as the change that it belongs to. */
  send(tx: Executor, data: Data): Promise<void>;
  /** The same for many jobs, in one statement. */
  sendAll(tx: Executor, list: readonly Data[], priority?: JobPriority): Promise<void>;
  /** Claims up to `count` jobs; no other process gets them. */
  take(count: number): Promise<Job<Data>[]>;
  /** Claims a job, but none of which this member of the data has one of these values. @returns undefined if no such job is due */
  takeExcept(member: keyof Data & string, values: readonly string[]): Promise<Job<Data> | undefined>;
  /** @param output kept with the job */
  complete(id: string, output?: object): Promise<void>;
  /** Schedules the job for another attempt or, after the last attempt or a second permanent failure in a row, keeps it with the reason. */
  fail(job: Pick<Job<Data>, 'id' | 'hasFailedPermanently'>, failure: JobFailure): Promise<void>;
  /** Requeues a job that has failed for good, in a transaction. @returns whether there was such a job */
  retry(tx: Executor, id: string): Promise<boolean>;
}

/** The queues of all kinds. */
export interface JobQueues {
  /** Starts the maintenance of the tables, and recovers jobs of processes that are gone. @throws {SchemaError} */
  start(): Promise<void>;
  /** @param kind one of those for which {@link createQueueTables} has created a table */
  queue<Data extends object>(kind: string): JobQueue<Data>;
  /** Stores the options of a queue. Call it once at startup. @throws {SchemaError} */
  configure(kind: string, options: QueueOptions): Promise<void>;
  stop(): Promise<void>;
}

const day = 86_400;

const databaseOf = (connection: DatabaseConnection, executor: Executor): PgBoss.Db => ({
  executeSql: async (text: string, values?: unknown[]) =>
    values === undefined
      ? connection.runScript(text)
      : { rows: await rows(executor, new CompiledStatement({ sql: text, params: values.map(serialize) })) },
});

/** Creates the tables of the queues, or brings them up to date. Requires rights on the schema, and the migration lock. */
export async function createQueueTables(
  connection: DatabaseConnection,
  kinds: readonly string[] = jobKinds,
): Promise<void> {
  const { queue: schema } = connection.schemas;
  const boss = new PgBoss({ db: databaseOf(connection, connection.db), schema, schedule: false, supervise: false });
  await boss.start();
  for (const kind of kinds) await boss.createQueue(kind);
  await boss.stop({ graceful: false });
}

const unfit = (reason: string) =>
  new SchemaError(
    `The tables of the job queue do not fit this version of the service (${reason}). If they are older, run \`npm run migrate\`. If they are newer, start the newer version.`,
  );

/**
 * Creates the queues, which pg-boss stores in the database, on either engine. Several processes can share them. If a process crashes, its
 * jobs are not lost.
 * @param onError called with errors that occur during maintenance of the tables
 */
export function createJobQueues(connection: DatabaseConnection, onError: (error: unknown) => void): JobQueues {
  const sqlOf = (executor: Executor) => databaseOf(connection, executor);
  const { db, schemas } = connection;
  const boss = new PgBoss({
    db: sqlOf(db),
    schema: schemas.queue,
    migrate: false,
    schedule: false,
    maintenanceIntervalSeconds: 60,
    // For jobs of all kinds: pg-boss does not distinguish them here.
    archiveCompletedAfterSeconds: 3_600,
    archiveFailedAfterSeconds: 90 * day,
    deleteAfterDays: 1,
  });
  boss.on('error', onError);

  const queueOf = <Data extends object>(name: string): JobQueue<Data> => ({
    send: async (tx, data) => {
      const id = await boss.send(name, data, { db: sqlOf(tx) });
      if (id === null) throw new Error(`The queue ${name} did not accept a job.`);
    },
    sendAll: async (tx, list, priority = 'normal') => {
      const jobs = list.map((data) => ({ name, data, priority: priorities[priority] }));
      if (jobs.length > 0) await boss.insert(jobs, { db: sqlOf(tx) });
    },
    take: async (count) => {
      const jobs = await boss.fetch<Data>(name, { batchSize: count, includeMetadata: true });
      return jobs.map(jobOf);
    },
    takeExcept: async (member, values) => {
      const job = await takeJobExcept<Data>(db, schemas, { name, member, values });
      return job && jobOf(job);
    },
    complete: (id, output) => boss.complete(name, id, output),
    fail: async ({ id, hasFailedPermanently }, failure) => {
      if (failure.isPermanent && hasFailedPermanently) await endRetries(db, schemas, { name, id });
      await boss.fail(name, id, failure);
    },
    retry: async (tx, id) => {
      const { affected } = (await boss.retry(name, id, { db: sqlOf(tx) })) as unknown as { affected: number };
      return affected > 0;
    },
  });

  return {
    start: async () => {
      await boss.start().catch((error: unknown) => {
        if (sqlStateOf(error) !== undefined || isDatabaseUnavailable(error)) throw error;
        throw unfit((error as Error).message);
      });
      // On the embedded engine, every active job is one of a process that is gone.
      if (connection.engine === 'embedded') await requeueActiveJobs(db, schemas);
      else await boss.expire();
    },
    queue: queueOf,
    configure: async (name, { retentionDays, ...options }) => {
      if (!(await boss.getQueue(name))) throw unfit(`they have none for jobs of the kind "${name}"`);
      // pg-boss accepts several units for a single job, but only this one for a queue.
      await boss.updateQueue(name, { name, ...options, retryBackoff: true, retentionMinutes: retentionDays * 24 * 60 });
    },
    stop: () => boss.stop({ graceful: false }),
  };
}

function jobOf<Data extends object>({
  id,
  data,
  retryCount,
  output,
}: Pick<TakenJob<Data>, 'id' | 'data' | 'retryCount'> & { output: unknown }): Job<Data> {
  const { isPermanent = false } = (output ?? {}) as Partial<JobFailure>;
  return { id, data, attempt: retryCount + 1, hasFailedPermanently: isPermanent };
}

/** Formats lists and objects the way PostgreSQL expects them. The only lists here contain UUIDs. */
function serialize(value: unknown): unknown {
  if (value === undefined) return null;
  if (Array.isArray(value)) return `{${value.join(',')}}`;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
