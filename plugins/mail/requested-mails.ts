import type { Client } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { padResponseTime } from '../platform/response-time-padding.js';
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

/** @param onLimitExceeded called when an email is not sent for this reason */
export function createRequestMail(
  { config, isFamiliarOrigin, rateLimits }: Services,
  onLimitExceeded: () => void,
): EnqueueRequestedMail {
  return async (email, client, enqueue) => {
    const origin = originOf(client);
    if (await rateLimits.mayRequestMail(client.network)) return enqueue(origin);
    // Only this branch depends on the user, so its response time must be constant.
    await padResponseTime(config.REGISTRATION_ANSWER_TIME, async () =>
      (await isFamiliarOrigin(email, origin)) ? enqueue(origin) : onLimitExceeded(),
    );
  };
}
