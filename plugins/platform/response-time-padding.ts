import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Does some work, and comes back only when a whole number of `step`s has gone by since, whatever the work took: so that
 * the time tells nothing of what was done.
 * @param step milliseconds, longer than the work usually takes
 */
export async function inEvenTime<T>(step: number, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  try {
    return await work();
  } finally {
    const taken = performance.now() - start;
    await sleep(Math.ceil(taken / step) * step - taken);
  }
}
