import { ApiFailure } from '../../kit/api-failure.js';

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const maxWaitSeconds = 60;

/** Waits if the API says that there were too many requests, as a program would. */
export async function patiently<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (failure) {
      const seconds =
        failure instanceof ApiFailure && failure.code === 'REQUESTS_EXCEEDED' ? failure.retryAfter : undefined;
      if (seconds === undefined || seconds > maxWaitSeconds) throw failure;
      await wait(Math.max(1, seconds));
    }
  }
}
