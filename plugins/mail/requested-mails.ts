import type { Client } from '../http/caller.js';
import { padResponseTime } from '../platform/response-time-padding.js';
import type { RateLimits } from '../rate-limits/service.js';
import type { IsFamiliar } from './familiar-origins.js';
import { originOf, type RequestOrigin } from './jobs.js';

/**
 * Enqueues an email that anyone who knows an address can request. `enqueue` must do the same for every address, and not look up the
 * user, so that neither the response nor its time reveals anything. Once too many emails have been requested from this network, only
 * users who have logged in from there, or in this browser, still get one.
 */
export type EnqueueRequestedMail = (
  email: string,
  client: Client,
  enqueue: (origin: RequestOrigin) => Promise<void>,
) => Promise<void>;

export function createRequestMail(deps: {
  isFamiliar: IsFamiliar;
  rateLimits: Pick<RateLimits, 'mayRequestMail'>;
  /** Milliseconds. */
  responseStepMs: number;
  onLimitExceeded(): void;
}): EnqueueRequestedMail {
  const { isFamiliar, rateLimits, responseStepMs, onLimitExceeded } = deps;
  return async (email, client, enqueue) => {
    const origin = originOf(client);
    if (await rateLimits.mayRequestMail(client.network)) return enqueue(origin);
    // Only this branch depends on the user, so its response time must be constant.
    await padResponseTime(responseStepMs, async () =>
      (await isFamiliar(email, origin)) ? enqueue(origin) : onLimitExceeded(),
    );
  };
}
