import type { Executor } from '../../db/client.js';
import { logsInFrom } from '../../db/queries/auth/logins.js';
import { padResponseTime } from '../platform/response-time-padding.js';
import type { Client } from '../server/caller.js';
import type { RateLimits } from '../server/rate-limits/service.js';

/**
 * Enqueues an email that anyone who knows an address can request. `enqueue` must do the same for every address, and not look up the
 * user, so that neither the response nor its time reveals anything. Once too many emails have been requested from this network, only
 * users who have logged in from there still get one.
 */
export type EnqueueRequestedMail = (email: string, client: Client, enqueue: () => Promise<void>) => Promise<void>;

export function createRequestMail(deps: {
  db: Executor;
  rateLimits: Pick<RateLimits, 'mayRequestMail'>;
  /** Milliseconds. */
  responseStepMs: number;
  onLimitExceeded(): void;
}): EnqueueRequestedMail {
  const { db, rateLimits, responseStepMs, onLimitExceeded } = deps;
  return async (email, client, enqueue) => {
    if (await rateLimits.mayRequestMail(client.network)) return enqueue();
    // Only this branch depends on the user, so its response time must be constant.
    await padResponseTime(responseStepMs, async () =>
      (await logsInFrom(db, email, client.network)) ? enqueue() : onLimitExceeded(),
    );
  };
}
