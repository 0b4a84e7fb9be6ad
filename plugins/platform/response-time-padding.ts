import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../schemas/errors.js';

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

/** Runs a login, and delays only INVALID_CREDENTIALS, so that the time does not reveal the reason. */
export async function padRefusal<T>(login: () => Promise<T>): Promise<T> {
  const start = performance.now();
  try {
    return await login();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'INVALID_CREDENTIALS') await sleepUntilMultiple(start, refusalStep);
    throw error;
  }
}

async function sleepUntilMultiple(start: number, step: number): Promise<void> {
  const taken = performance.now() - start;
  await sleep(Math.ceil(taken / step) * step - taken);
}
