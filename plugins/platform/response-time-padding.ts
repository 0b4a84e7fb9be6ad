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
    await sleepUntilMultiple(start, step);
  }
}

/** Milliseconds. Longer than it takes to check a signature and the state in the database. */
const refusalStep = 100;

/**
 * Runs work, and delays only refusals, so that the time does not reveal the reason.
 * @param refusalOf converts an error to a refusal; undefined: the error is not a refusal, and is not delayed
 */
export async function padRefusal<T>(
  work: () => Promise<T>,
  refusalOf: (error: unknown) => Promise<Error | undefined>,
): Promise<T> {
  const start = performance.now();
  try {
    return await work();
  } catch (error) {
    const refusal = await refusalOf(error);
    if (!refusal) throw error;
    await sleepUntilMultiple(start, refusalStep);
    throw refusal;
  }
}

async function sleepUntilMultiple(start: number, step: number): Promise<void> {
  const taken = performance.now() - start;
  await sleep(Math.ceil(taken / step) * step - taken);
}
