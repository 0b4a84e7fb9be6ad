import type { Job, JobQueue } from '../../db/job-queue.js';
import type { Observe } from '../platform/traced-operations.js';
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
  observe: Observe;
  onFailure(error: unknown, job: { id: string; kind: string }): void;
}): MailWorker {
  const { queue, delivery, observe, onFailure } = deps;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const underWay = new Set<Promise<void>>();

  const deliver = async (job: Job<MailJob>) => {
    const { id, data } = job;
    const operation = {
      name: 'deliver mail',
      kind: 'internal',
      attributes: attributesOf(id, data),
      isRoot: true,
    } as const;
    try {
      await observe(operation, () => delivery.deliver(job));
    } catch (error) {
      onFailure(error, { id, kind: data.kind });
      await queue.fail(id, error instanceof Error ? error.message : String(error));
      return;
    }
    await queue.complete(id);
  };

  /** Takes as many mails as there is room for. One that is slow to leave takes up its own place, and no other. */
  const fill = async (): Promise<number> => {
    const jobs = await queue.take(batch - underWay.size);
    for (const job of jobs) {
      // The database is away: the job counts as failed when its time is over, and is taken again.
      const work = deliver(job)
        .catch((error: unknown) => onFailure(error, { id: '', kind: 'queue' }))
        .finally(() => underWay.delete(work));
      underWay.add(work);
    }
    return jobs.length;
  };

  const next = (pause: number) => {
    if (isStopped) return;
    timer = setTimeout(async () => {
      const room = batch - underWay.size;
      const count = await fill().catch(() => 0);
      if (underWay.size === batch) await Promise.race(underWay);
      // No room left over means that there is more.
      next(count === room ? 0 : interval);
    }, pause);
  };

  return {
    start: () => next(0),
    run: async () => {
      const count = await fill();
      await Promise.all(underWay);
      return count;
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      let patience: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        patience = setTimeout(resolve, longestStop);
      });
      await Promise.race([Promise.all(underWay), enough]);
      clearTimeout(patience);
    },
  };
}

const attributesOf = (id: string, { kind }: MailJob) => ({ 'gatehouse.mail.id': id, 'gatehouse.mail.kind': kind });
