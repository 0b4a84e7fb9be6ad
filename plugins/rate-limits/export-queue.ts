import { setTimeout as sleep } from 'node:timers/promises';
import { type AdmissionQueue, createAdmissionQueue } from './admission-queue.js';

/** Runs the parts of exports, which read a lot of data, one at a time. */
export type ExportQueue = Pick<AdmissionQueue, 'push'>;

/** How many parts can wait. */
const maxWaiting = 16;

/**
 * After each part, the queue pauses for at least as long as the part took, so that exports use at most half of the time of this thread and
 * of the embedded engine, whose only connection a transaction occupies.
 */
export function createExportQueue(): ExportQueue {
  const queue = createAdmissionQueue({ atOnce: 1, capacity: maxWaiting, reason: 'export_queue_full' });
  return {
    push: (from, work) =>
      new Promise((resolve, reject) => {
        const run = async () => {
          const start = performance.now();
          await work().then(resolve, reject);
          await sleep(performance.now() - start);
        };
        queue.push(from, run).catch(reject);
      }),
  };
}
