import type { IncomingMessage } from 'node:http';
import { ApiError, unavailable } from '../../schemas/errors.js';
import { definePlugin } from '../platform/plugin.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Milliseconds within which the route must respond. The default is 10 seconds. */
    timeoutMs?: number;
  }
}

const limit = 10_000;

/** The reason for the error when the client is slow, not the service. */
export const bodyTooSlow = 'The request took too long to arrive.';

/** Whether the service is reading the body, and is waiting for the client to send the rest. */
const isBodyMissing = ({ complete, readableFlowing }: IncomingMessage) => !complete && readableFlowing === true;

/**
 * Guarantees that a response begins in time, whether a request is waiting for the database, a lock or a place in a queue. This does not stop
 * the work behind the request, which finishes or fails later. If the body is still incomplete, the connection is closed too: otherwise
 * a client could keep it open by sending a byte now and then. Fastify's `handlerTimeout` is similar, but does not cover requests
 * whose body has been read.
 */
export const requestTimeoutPlugin = definePlugin('http/request-timeout', (_services, app) => {
  app.addHook('onRequest', async (request, reply) => {
    const timer = setTimeout(() => {
      // With pipelined requests, only the current one is closed when the client disconnects, so check the socket as well.
      if (reply.sent || reply.raw.headersSent || request.raw.socket.destroyed) return;
      if (isBodyMissing(request.raw)) {
        reply.header('connection', 'close').send(new ApiError('INVALID_PAYLOAD', { reason: bodyTooSlow }));
      } else {
        reply.send(unavailable('request_timeout'));
      }
    }, request.routeOptions.config.timeoutMs ?? limit);
    reply.raw.once('close', () => clearTimeout(timer));
  });
});
