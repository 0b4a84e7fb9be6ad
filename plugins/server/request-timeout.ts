import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Milliseconds within which the route must respond. The default is 10 seconds. */
    deadline?: number;
  }
}

const limit = 10_000;

/**
 * Guarantees a response in time, whether a request is waiting for the database, a lock or a place in a queue. This does not stop
 * the work behind the request, which finishes or fails later. Fastify's `handlerTimeout` is similar, but does not cover requests
 * whose body has been read.
 */
export const deadlinePlugin = plugin(
  async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      const timer = setTimeout(() => {
        const error = new ApiError('SERVICE_UNAVAILABLE', {
          service: 'gatehouse',
          reason: 'The request took too long.',
        });
        // With pipelined requests, only the current one is closed when the client disconnects, so check the socket as well.
        if (!reply.sent && !request.raw.socket.destroyed) reply.send(error);
      }, request.routeOptions.config.deadline ?? limit);
      reply.raw.once('close', () => clearTimeout(timer));
    });
  },
  { name: 'deadline' },
);
