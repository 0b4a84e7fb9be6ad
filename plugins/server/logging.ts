import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyServerOptions } from 'fastify';
import plugin from 'fastify-plugin';
import pretty from 'pino-pretty';
import { pathOf } from './errors.js';
import type { TrustsProxy } from './trusted-proxies.js';

/** IDs that a proxy may have given a request already. Anything else is replaced, so that no log line can be forged. */
const acceptableId = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Gives each request its ID: what `x-request-id` says if a trusted proxy sent it, otherwise a new UUID. The ID is in the
 * audit log, and anyone who could choose it could make one request look like another.
 */
export const requestIdsBy =
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
 * What is logged of an error. The query builder repeats all parameters of a failed statement in its message, and the
 * database the offending values in its details: none of that may get into a log, so only what is listed here does.
 */
export function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'This was thrown, and is no error.', stack: '' };
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
 * Options of the logger: readable on a terminal, JSON lines otherwise. Of a request only method, path and address are
 * logged: neither its query nor its headers nor its body, for there the secrets are.
 */
export function loggerOptions(
  level: string,
  stream: NodeJS.WriteStream = process.stdout,
): NonNullable<FastifyServerOptions['logger']> {
  return {
    level,
    serializers: {
      err: describeError,
      req: (request) => ({ method: request.method, path: pathOf(request.url), remoteAddress: request.ip }),
    },
    ...(stream.isTTY
      ? { stream: pretty({ colorize: true, translateTime: 'HH:MM:ss', ignore: 'pid,hostname' }) }
      : { stream }),
  };
}

/** One line in the log for each request. */
export const loggingPlugin = plugin(
  async (app) => {
    app.addHook('onResponse', async (request, reply) => {
      request.log.info(
        {
          method: request.method,
          path: pathOf(request.url),
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime * 10) / 10,
          ip: request.ip,
        },
        'request',
      );
    });
  },
  { name: 'logging' },
);
