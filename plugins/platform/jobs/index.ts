import { setTimeout as sleep } from 'node:timers/promises';
import { createJobQueues, type JobQueue, type QueueOptions } from '../../../db/job-queue.js';
import { definePlugin } from '../plugin.js';
import { createJobWorker, type JobWork, type JobWorker } from './worker.js';

declare module '../plugin.js' {
  interface Services {
    /**
     * Defines a kind of job. Jobs are processed in the background from the time the service starts listening until it is closed.
     * @param kind one of `jobKinds` in `db/job-queue.ts`
     */
    defineJob<Data extends object>(kind: string, definition: JobDefinition<Data>): Jobs<Data>;
  }
}

export interface JobDefinition<Data extends object> extends QueueOptions {
  /** Null: jobs wait in the queue. */
  work: JobWork<Data> | null;
}

export interface Jobs<Data extends object> extends Pick<JobQueue<Data>, 'send' | 'sendAll' | 'retry'> {
  /** Processes the jobs that are due now, without waiting for the background worker. @returns how many it tried */
  runNow(): Promise<number>;
}

/** How long closing waits for all jobs in progress together, in milliseconds. */
const maxStopMs = 8_000;

/** `app.defineJob`: work that is queued in the transaction of a change, and is done after it, at least once. */
export const jobsPlugin = definePlugin('platform/jobs', ({ databaseConnection }, app) => {
  const queues = createJobQueues(databaseConnection, (error) =>
    app.log.warn(error, 'maintenance of the job queue failed'),
  );
  app.addHook('onReady', () => queues.start());
  app.addHook('onClose', () => queues.stop());
  const workers: JobWorker[] = [];
  let stopped: Promise<unknown> | undefined;
  const stopAll = () => {
    const enough = sleep(maxStopMs, undefined, { ref: false });
    return Promise.race([Promise.all(workers.map((worker) => worker.stop())), enough]);
  };

  const defineJob = <Data extends object>(kind: string, definition: JobDefinition<Data>): Jobs<Data> => {
    const { work, ...options } = definition;
    const queue = queues.queue<Data>(kind);
    app.addHook('onReady', () => queues.configure(kind, options));
    const worker = work && createJobWorker(queue, work);
    if (worker) workers.push(worker);
    app.addHook('onListen', async () => worker?.start());
    // `onClose` hooks run in reverse order, so what the work depends on, which was registered earlier, is still open.
    app.addHook('onClose', async () => {
      stopped ??= stopAll();
      await stopped;
    });
    return { ...queue, runNow: async () => worker?.run() ?? 0 };
  };
  return { defineJob };
});
