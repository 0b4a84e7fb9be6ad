import type { FastifyBaseLogger } from 'fastify';
import type { Client } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { padResponseTime } from '../platform/response-time-padding.js';
import type { IsFamiliar } from './familiar-origins.js';
import { originOf, type RequestOrigin } from './jobs.js';

/**
 * Enqueues an email that anyone who knows an address can request. `enqueue` must do the same for every address, and not look up the
 * user, so that neither the response nor its time reveals anything. Once too many emails have been requested from this network, only
 * users who have logged in from there, or in this browser, still get one. Of the others, only the first is enqueued, so that
 * `GET /mails` shows that emails were dropped, but a flood of requests does not fill the queue.
 */
export type RequestMail = (
  email: string,
  client: Client,
  enqueue: (origin: RequestOrigin) => Promise<void>,
) => Promise<void>;

export const createRequestMail =
  (
    { config, rateLimits }: Pick<Services, 'config' | 'rateLimits'>,
    isFamiliar: IsFamiliar,
    log: FastifyBaseLogger,
  ): RequestMail =>
  async (email, client, enqueue) => {
    const origin = originOf(client);
    const admission = await rateLimits.admitMailRequest(client.network);
    if (admission === 'yes') return enqueue(origin);
    // Only this branch depends on the user, so its response time must be constant.
    await padResponseTime(config.REGISTRATION_ANSWER_TIME, async () => {
      if (await isFamiliar(email, origin)) return enqueue(origin);
      log.info('an email was not sent: too many were requested from one network');
      if (admission === 'first over') await enqueue({ ...origin, isOverLimit: true });
    });
  };
