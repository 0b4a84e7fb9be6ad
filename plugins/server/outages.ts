import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { ApiError, type Outage } from '../../schemas/errors.js';
import { describeError } from './logging.js';
import { createSummaries, summaryInterval } from './summaries.js';

/** Keeps track of the requests that failed because a component is unavailable. */
export interface Outages {
  /** Records that a request failed. @param thrown the error behind it */
  note(request: FastifyRequest, outage: Outage, thrown: unknown): void;
  /** When the first write failed since the last one that succeeded; null if the last one succeeded. */
  writesFailingSince(): Date | null;
  /** Adds a listener for every request that is recorded. */
  onOutage(listener: (outage: Outage) => void): void;
}

declare module 'fastify' {
  interface FastifyInstance {
    outages: Outages;
  }
  interface FastifyRequest {
    /** Why the response has the status 503, if it has. */
    outage: Outage | null;
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
 * Whether the response proves that the database accepted a write. Operations without a body in their response do not: many of them
 * respond identically whether or not there is anything to write.
 */
const provesWrite = (request: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  statusCode === 200 && isWrite(request);

const text = 'requests fail because a component is unavailable';

/** `app.outages` */
export const outagesPlugin = plugin(
  async (app) => {
    const listeners: ((outage: Outage) => void)[] = [];
    let failingSince: Date | null = null;

    const summaries = createSummaries();
    app.addHook('onClose', async () => summaries.close());

    app.decorate('outages', {
      note: (request, outage, thrown) => {
        request.outage = outage;
        summaries.add(
          `${outage.service} ${outage.reason}`,
          () => request.log.error({ ...outage, requests: 1, ...causeOf(thrown) }, text),
          (requests) => app.log.error({ ...outage, requests, seconds: summaryInterval / 1_000 }, text),
        );
        // If the database hangs, the request times out first.
        const isFailedWrite = isWrite(request) && ['database', 'gatehouse'].includes(outage.service);
        if (isFailedWrite) failingSince ??= app.clock();
        for (const listener of listeners) listener(outage);
      },
      writesFailingSince: () => failingSince,
      onOutage: (listener) => {
        listeners.push(listener);
      },
    });
    app.decorateRequest('outage', null);
    app.addHook('onResponse', (request, reply, done) => {
      if (failingSince && provesWrite(request, reply)) failingSince = null;
      done();
    });
  },
  { name: 'outages', dependencies: ['clock'] },
);

/** What went wrong outside the service. The stack of an error of our own, or of the driver, says nothing about that. */
function causeOf(thrown: unknown): { cause?: object } {
  const error = thrown instanceof ApiError ? thrown.cause : thrown;
  if (error === undefined) return {};
  const { stack, ...cause } = describeError(error);
  return { cause };
}
