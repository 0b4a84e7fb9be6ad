import type { JobQueue } from '../../db/job-queue.js';
import type { Delivery } from './delivery.js';
import type { MailJob } from './jobs.js';

export interface MailWorker {
  /** Delivers what is due, over and over, until it is stopped. */
  start(): void;
  /** Delivers what is due now. @returns how many mails were attempted */
  run(): Promise<number>;
  /** Lets the mails on their way arrive, for a while. */
  stop(): Promise<void>;
}

/** Mails on their way at once, in one process. */
const batch = 5;
const interval = 500;
const longestStop = 8_000;

/** Takes mails from the queue. Nothing that goes wrong with one of them touches another, or ends the process. */
export function createMailWorker(deps: {
  queue: JobQueue<MailJob>;
  delivery: Delivery;
  onFailure(error: unknown, job: { id: string; kind: string }): void;
}): MailWorker {
  const { queue, delivery, onFailure } = deps;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let round: Promise<number> = Promise.resolve(0);

  const attempt = async ({ id, data }: { id: string; data: MailJob }) => {
    try {
      await delivery.deliver(id, data);
    } catch (error) {
      onFailure(error, { id, kind: data.kind });
      await queue.fail(id, error instanceof Error ? error.message : String(error));
      return;
    }
    await queue.complete(id);
  };

  const run = async (): Promise<number> => {
    const jobs = await queue.take(batch);
    const outcomes = await Promise.allSettled(jobs.map(attempt));
    // The database is away: the job counts as failed when its time is over, and is taken again.
    const lost = outcomes.find((outcome) => outcome.status === 'rejected');
    if (lost) onFailure(lost.reason, { id: '', kind: 'queue' });
    return jobs.length;
  };

  const next = (pause: number) => {
    if (isStopped) return;
    timer = setTimeout(() => {
      round = run().catch(() => 0);
      // A full batch means that there is more.
      void round.then((count) => next(count === batch ? 0 : interval));
    }, pause);
  };

  return {
    start: () => next(0),
    run,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      let patience: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        patience = setTimeout(resolve, longestStop);
      });
      await Promise.race([round, enough]);
      clearTimeout(patience);
    },
  };
}
