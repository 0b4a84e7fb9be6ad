import { setTimeout as sleep } from 'node:timers/promises';
import ms from 'ms';
import { isDatabaseUnavailable } from '../../db/failures.js';
import { within } from './within.js';

/** Startup has taken longer than START_TIMEOUT. */
export class StartupTimeoutError extends Error {
  constructor(waited: number, cause: Error) {
    super(`The service waited for ${ms(waited)} (START_TIMEOUT).`, { cause });
    this.name = 'StartupTimeoutError';
  }
}

/** Waits, for a limited time, until the database can be used. */
export interface StartupWait {
  /**
   * Waits a moment before something is tried again.
   * @param isBrief the wait is reported only if it lasts longer than the interval of the reports
   * @throws {StartupTimeoutError} when the time is up
   */
  pause(reason: string | Error, isBrief?: boolean): Promise<void>;
  /**
   * Repeats `ping` and then `work` for as long as either of them fails because the database is unavailable.
   * @param work can be repeated; the database may fail while it runs
   */
  untilAvailable<T>(ping: () => Promise<unknown>, work: () => Promise<T>): Promise<T>;
}

const pauseMs = 200;
const reportIntervalMs = 5_000;
/** Milliseconds after which a database that accepts connections but does not respond counts as unavailable. */
const attemptTimeoutMs = 5_000;

/** @param report called immediately, and then every five seconds, with the reason for the wait */
export function createStartWait(timeoutMs: number, report: (reason: string) => void): StartupWait {
  const begun = performance.now();
  let nextReport = begun;

  const pause: StartupWait['pause'] = async (reason, isBrief = false) => {
    const now = performance.now();
    if (now - begun >= timeoutMs)
      throw new StartupTimeoutError(timeoutMs, reason instanceof Error ? reason : new Error(reason));
    if (now >= (isBrief ? Math.max(nextReport, begun + reportIntervalMs) : nextReport)) {
      report(reason instanceof Error ? rootCause(reason).message : reason);
      nextReport = now + reportIntervalMs;
    }
    await sleep(pauseMs);
  };

  return {
    pause,
    untilAvailable: async (ping, work) => {
      for (;;) {
        try {
          await within(attemptTimeoutMs, ping(), noResponseError);
          return await work();
        } catch (error) {
          if (error instanceof StartupTimeoutError || !isDatabaseUnavailable(error)) throw error;
          await pause(error as Error);
        }
      }
    },
  };
}

const noResponseError = () =>
  Object.assign(new Error('PostgreSQL accepts connections, but does not respond'), { code: 'ETIMEDOUT' });

/** The innermost error, which describes the cause most precisely. */
export function rootCause(error: Error): Error {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return rootCause(error.errors[0]);
  return error.cause instanceof Error ? rootCause(error.cause) : error;
}
