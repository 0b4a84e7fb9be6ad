import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { prettyFactory } from 'pino-pretty';
import { toApiError } from '../http/errors.js';
import { pathOf } from '../http/request-parsing.js';
import { bareAddress, type TrustsProxy } from '../http/trusted-proxies.js';
import { definePlugin } from '../platform/plugin.js';

/** The format of IDs that are accepted from a proxy. Others are replaced, so that no client can forge a log line. */
const acceptableId = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Assigns each request its ID: the value of `x-request-id` if a trusted proxy sent it, otherwise a new UUID. The audit log
 * contains this ID, and a client that could choose it could make one request look like another.
 */
export const createRequestIdGenerator =
  (trustsProxy: TrustsProxy) =>
  ({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string => {
    const given = headers['x-request-id'];
    if (typeof given !== 'string' || !acceptableId.test(given)) return randomUUID();
    return trustsProxy(socket.remoteAddress ?? '', 0) ? given : randomUUID();
  };

interface LoggedError {
  type: string;
  message: string;
  stack: string;
  [detail: string]: unknown;
}

/**
 * Selects the parts of an error that are logged. The query builder's message contains all parameters of a failed statement, and
 * the database's details contain the rejected values. Neither may appear in a log, so only the properties below do.
 */
export function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error))
    return { type: typeof error, message: 'A value that is not an error was thrown.', stack: '' };
  const { code, query, cause } = error as Error & { code?: unknown; query?: unknown };
  const isFailedQuery = typeof query === 'string' && cause instanceof Error;
  if (isFailedQuery) return { ...describeError(cause), query };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack ?? '',
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

/**
 * Whether this is Fastify's log line about a response that came too late, because the request had timed out or the client had
 * disconnected. This includes an error that the handler throws after that, unless it is a fault of the service.
 */
function isAboutLateResponse([details, message]: readonly unknown[]): boolean {
  const error = (details as { err?: unknown } | null)?.err;
  if (!(error instanceof Error)) return false;
  if ((error as { code?: unknown }).code === 'FST_ERR_REP_ALREADY_SENT') return true;
  const isLate = message === 'Promise errored, but reply.sent = true was set';
  return isLate && toApiError(error).code !== 'INTERNAL_SERVER_ERROR';
}

/**
 * Options of the logger: readable text on a terminal, JSON lines otherwise. For a request, only the method, path, and IP address are
 * logged. The query, headers and body are not, because they contain secrets.
 */
export function loggerOptions(
  level: string,
  stream: NodeJS.WriteStream = process.stdout,
): NonNullable<FastifyServerOptions['logger']> {
  return {
    level,
    hooks: {
      logMethod(line, log) {
        if (!isAboutLateResponse(line)) log.apply(this, line);
      },
    },
    serializers: {
      err: describeError,
      req: (request) => ({
        method: request.method,
        path: pathOf(request.url),
        remoteAddress: bareAddress(request.ip ?? '') ?? 'unknown',
      }),
    },
    stream: stream.isTTY ? readable(stream) : stream,
  };
}

/** Formats the lines for people. The stream of `pino-pretty` would write to the terminal itself, and fail when it has been closed. */
function readable(stream: NodeJS.WriteStream): { write(line: string): void } {
  const format = prettyFactory({ colorize: true, translateTime: 'HH:MM:ss', ignore: 'pid,hostname' });
  return { write: (line) => void stream.write(format(line)) };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether monitoring calls the route every few seconds. */
    isProbe?: boolean;
  }
}

/**
 * Logs one line for each request, even if the client disconnects before the response. Probes are logged at the level `debug`, unless
 * they are rejected.
 */
export const loggingPlugin = definePlugin('monitoring/logging', (_services, app) => {
  app.addHook('onRequest', (request, reply, done) => {
    // The hook onResponse does not run for a client that has disconnected. An incomplete request is logged as malformed.
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished && request.raw.complete) logRequest(request, reply, { disconnected: true });
    });
    done();
  });
  app.addHook('onResponse', async (request, reply) => logRequest(request, reply, { status: reply.statusCode }));
});

type Outcome = { status: number } | { disconnected: true };

function logRequest(request: FastifyRequest, { elapsedTime }: FastifyReply, outcome: Outcome): void {
  const isExpected = 'status' in outcome && (outcome.status === 200 || outcome.status === 503);
  const level = request.routeOptions.config?.isProbe && isExpected ? 'debug' : 'info';
  request.log[level](
    {
      method: request.method,
      path: request.path,
      ...outcome,
      ms: Math.round(elapsedTime * 10) / 10,
      ip: request.client.ip,
      ...request.outage,
    },
    'request',
  );
}
