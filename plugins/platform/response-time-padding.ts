import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs work, and delays the result until a multiple of `step` has passed since the start, so that the response time does not
 * reveal what the work did.
 * @param step milliseconds, longer than the work usually takes
 */
export async function padResponseTime<T>(step: number, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  try {
    return await work();
  } finally {
    const taken = performance.now() - start;
    await sleep(Math.ceil(taken / step) * step - taken);
  }
}
