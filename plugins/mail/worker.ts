import type { Job, JobQueue } from '../../db/job-queue.js';
import type { Observe } from '../platform/traced-operations.js';
import type { Delivery, DroppedMail } from './delivery.js';
import type { MailJob } from './jobs.js';
import { MailRejectedError } from './transport.js';

export interface MailWorker {
  /** Delivers emails that are due, until the worker is stopped. */
  start(): void;
  /** Delivers the emails that are due now. @returns how many emails it tried to deliver */
  run(): Promise<number>;
  /** Stops the worker, and waits until the emails in progress are delivered, but only for a limited time. */
  stop(): Promise<void>;
}

/** How many emails one process delivers at the same time. */
const batch = 5;
const interval = 500;
const maxStopMs = 8_000;

/** Delivers emails from the queue. A failure of one email affects no other email, and does not end the process. */
export function createMailWorker(deps: {
  queue: JobQueue<MailJob>;
  delivery: Delivery;
  observe: Observe;
  onFailure(error: unknown, job: { id: string; kind: string }): void;
}): MailWorker {
  const { queue, delivery, observe, onFailure } = deps;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const inProgress = new Set<Promise<void>>();
  let filling: Promise<unknown> = Promise.resolve();

  const deliver = async (job: Job<MailJob>) => {
    const { id, data } = job;
    const operation = {
      name: 'deliver mail',
      kind: 'internal',
      attributes: attributesOf(id, data),
      isRoot: true,
    } as const;
    let dropped: DroppedMail | undefined;
    try {
      dropped = await observe(operation, () => delivery.deliver(job));
    } catch (error) {
      onFailure(error, { id, kind: data.kind });
      const reason = error instanceof Error ? error.message : String(error);
      await queue.fail(job, { reason, isPermanent: error instanceof MailRejectedError });
      return;
    }
    await queue.complete(id, dropped);
  };

  const startDeliveries = async (): Promise<number> => {
    if (inProgress.size === batch) await Promise.race(inProgress);
    if (isStopped) return 0;
    const jobs = await queue.take(batch - inProgress.size);
    for (const job of jobs) {
      // If the database is unavailable, the job expires, counts as failed, and is delivered again.
      const work = deliver(job)
        .catch((error: unknown) => onFailure(error, { id: '', kind: 'queue' }))
        .finally(() => inProgress.delete(work));
      inProgress.add(work);
    }
    return jobs.length;
  };

  /**
   * Starts as many deliveries as there are free slots. A slow delivery occupies only its own slot. Calls run one after another:
   * otherwise, two could fill the same slot, and `run` and `stop` would not wait for jobs that are being claimed.
   */
  const fill = (): Promise<number> => {
    const result = filling.then(startDeliveries);
    filling = result.catch(() => 0);
    return result;
  };

  const next = (pause: number) => {
    if (isStopped) return;
    timer = setTimeout(async () => {
      const count = await fill().catch(() => 0);
      // There may be more emails.
      next(count > 0 ? 0 : interval);
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
      let stopTimer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        stopTimer = setTimeout(resolve, maxStopMs);
      });
      await Promise.race([filling.then(() => Promise.all(inProgress)), enough]);
      clearTimeout(stopTimer);
    },
  };
}

const attributesOf = (id: string, { kind }: MailJob) => ({ 'gatehouse.mail.id': id, 'gatehouse.mail.kind': kind });
