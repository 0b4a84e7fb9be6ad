import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, type Outage } from '../../schemas/errors.js';
import { toApiError } from '../http/errors.js';
import { createSummaries, summaryInterval } from '../platform/log-summaries.js';
import { definePlugin } from '../platform/plugin.js';
import { describeError } from './logging.js';

/** Keeps track of the requests that failed because a component is unavailable. */
export interface Outages {
  /** The time of the first failed write since the last successful one; null if the last write succeeded. */
  writesFailingSince(): Date | null;
  /** Adds a listener for every request that is recorded. */
  onOutage(listener: (outage: Outage) => void): void;
}

declare module '../platform/plugin.js' {
  interface Services {
    outages: Outages;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the response has the status 503, if it does. */
    outage: Outage | null;
    /** Records that the request failed because a component is unavailable, if that is why. Errors that clients get are recorded anyway. */
    recordOutage(thrown: unknown): void;
  }
  interface FastifyContextConfig {
    /** The operation writes to the database, although it is not recorded in the audit log. */
    writesUnrecorded?: true;
  }
}

/** Whether the operation writes to the database. A recorded operation does, because the audit log is in the database. */
const isWrite = ({ routeOptions: { config } }: FastifyRequest): boolean =>
  config?.recordedAs !== undefined || config?.writesUnrecorded === true;

/**
 * Whether the response proves that the database accepted a write. A response without a body does not: many operations respond
 * identically whether or not there is anything to write.
 */
const provesWrite = (request: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  statusCode === 200 && isWrite(request);

const outageMessage = 'requests fail because a component is unavailable';

/** `app.outages`. Logs outages in summaries, because thousands of requests can fail for the same reason. */
export const outagesPlugin = definePlugin('monitoring/outages', ({ clock }, app) => {
  const listeners: ((outage: Outage) => void)[] = [];
  let failingSince: Date | null = null;

  const summaries = createSummaries();
  app.addHook('onClose', async () => summaries.close());

  app.decorateRequest('outage', null);
  app.decorateRequest('recordOutage', function (this: FastifyRequest, thrown: unknown) {
    const { outage } = toApiError(thrown);
    if (!outage) return;
    this.outage = outage;
    summaries.add(
      `${outage.service} ${outage.reason}`,
      () => this.log.error({ ...outage, requests: 1, ...causeOf(thrown) }, outageMessage),
      (requests) => app.log.error({ ...outage, requests, seconds: summaryInterval / 1_000 }, outageMessage),
    );
    // If the database hangs, the request times out first, and the outage is attributed to `gatehouse`.
    const isFailedWrite = isWrite(this) && ['database', 'gatehouse'].includes(outage.service);
    if (isFailedWrite) failingSince ??= clock();
    for (const listener of listeners) listener(outage);
  });
  app.addHook('onError', async (request, _reply, thrown) => request.recordOutage(thrown));
  app.addHook('onResponse', (request, reply, done) => {
    if (failingSince && provesWrite(request, reply)) failingSince = null;
    done();
  });
  const outages: Outages = {
    writesFailingSince: () => failingSince,
    onOutage: (listener) => void listeners.push(listener),
  };
  return { outages };
});

/** What went wrong outside the service. The stack of an error of our own, or of the driver, says nothing about that. */
function causeOf(thrown: unknown): { cause?: object } {
  const error = thrown instanceof ApiError ? thrown.cause : thrown;
  if (error === undefined) return {};
  const { stack, ...cause } = describeError(error);
  return { cause };
}
