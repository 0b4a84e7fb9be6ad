import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, JobQueue } from '../../../db/job-queue.js';

export interface JobWorker {
  /** Processes jobs that are due, until the worker is stopped. */
  start(): void;
  /** Processes the jobs that are due now. @returns how many it tried */
  run(): Promise<number>;
  /** Stops taking jobs, and waits for those in progress. */
  stop(): Promise<void>;
}

/** How jobs of one kind are processed. */
export interface JobWork<Data extends object> {
  /** The maximum number of jobs that one process works on at the same time. */
  concurrency: number;
  /**
   * How many of these can have the same value in a member of the data, such as the server that a request is sent to. Without this limit,
   * one server that does not respond could delay all other jobs.
   */
  share?: { by: keyof Data & string; max: number };
  /**
   * Processes a job. If the process crashes, the job is processed again, so this may happen more than once.
   * @returns what to keep with the completed job, if anything
   */
  run(job: Job<Data>): Promise<object | undefined>;
  /** Whether the cause of a failure is not expected to go away. The job is then tried only once more. */
  isPermanent?(error: unknown): boolean;
  /** Reports a failed attempt. The job is kept. */
  onFailure(error: unknown, job: Job<Data>): void;
}

/** Milliseconds between two looks at an empty queue. */
const interval = 500;

/** Processes the jobs of a queue. A failure of one job affects no other job, and does not end the process. */
export function createJobWorker<Data extends object>(
  queue: Pick<JobQueue<Data>, 'take' | 'takeExcept' | 'complete' | 'fail'>,
  { concurrency, share, run, isPermanent = () => false, onFailure }: JobWork<Data>,
): JobWorker {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const inProgress = new Set<Promise<void>>();
  /** How many jobs in progress have each value of the member in `share`. */
  const shares = new Map<string, number>();
  let filling: Promise<unknown> = Promise.resolve();

  const process = async (job: Job<Data>) => {
    let output: object | undefined;
    try {
      output = await run(job);
    } catch (error) {
      onFailure(error, job);
      const reason = error instanceof Error ? error.message : String(error);
      await queue.fail(job, { reason, isPermanent: isPermanent(error) });
      return;
    }
    await queue.complete(job.id, output);
  };

  const start = (job: Job<Data>) => {
    const value = share && String(job.data[share.by] ?? '');
    const addToShare = (count: number) => {
      if (value === undefined) return;
      const total = (shares.get(value) ?? 0) + count;
      if (total > 0) shares.set(value, total);
      else shares.delete(value);
    };
    addToShare(1);
    // If the database is unavailable, the job expires, counts as failed, and is processed again.
    const work = process(job)
      .catch((error: unknown) => onFailure(error, job))
      .finally(() => {
        inProgress.delete(work);
        addToShare(-1);
      });
    inProgress.add(work);
  };

  const usedUp = (): string[] =>
    [...shares].filter(([, count]) => count >= (share?.max ?? concurrency)).map(([value]) => value);

  const startJobs = async (): Promise<number> => {
    if (inProgress.size === concurrency) await Promise.race(inProgress);
    if (isStopped) return 0;
    if (!share) {
      const jobs = await queue.take(concurrency - inProgress.size);
      for (const job of jobs) start(job);
      return jobs.length;
    }
    // One after another, because each can use up a share.
    for (let count = 0; ; count++) {
      const hasFreeSlot = !isStopped && inProgress.size < concurrency;
      const job = hasFreeSlot ? await queue.takeExcept(share.by, usedUp()) : undefined;
      if (!job) return count;
      start(job);
    }
  };

  /**
   * Starts as many jobs as there are free slots. A slow job occupies only its own slot. Calls run one after another: otherwise, two could
   * fill the same slot, and `run` and `stop` would not wait for jobs that are being claimed.
   */
  const fill = (): Promise<number> => {
    const result = filling.then(startJobs);
    filling = result.catch(() => 0);
    return result;
  };

  const next = (pause: number) => {
    if (isStopped) return;
    timer = setTimeout(async () => {
      const count = await fill().catch(() => 0);
      // There may be more jobs. Those of a share that is used up can start when another job ends.
      const mayStartSooner = count === 0 && usedUp().length > 0;
      if (mayStartSooner) await Promise.race([...inProgress, sleep(interval, undefined, { ref: false })]);
      next(count > 0 || mayStartSooner ? 0 : interval);
    }, pause);
  };

  return {
    start: () => next(0),
    run: async () => {
      const count = await fill();
      await Promise.all(inProgress);
      return count;
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await filling;
      await Promise.all(inProgress);
    },
  };
}
