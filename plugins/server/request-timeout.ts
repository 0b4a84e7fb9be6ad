import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Milliseconds in which the route must have answered; 10 seconds unless it says otherwise. */
    deadline?: number;
  }
}

const limit = 10_000;

/**
 * Whatever a request waits for (a database that hangs, a lock, a place in a queue), it is answered in time. The work
 * behind it isn't stopped: it ends, or is given up, on its own. Fastify's `handlerTimeout` would do this, but lets go of
 * requests whose body has been read.
 */
export const deadlinePlugin = plugin(
  async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      const timer = setTimeout(() => {
        const error = new ApiError('SERVICE_UNAVAILABLE', {
          service: 'gatehouse',
          reason: 'The answer took too long.',
        });
        // Of several requests sent at once, only that whose turn it is hears of it when the client hangs up.
        if (!reply.sent && !request.raw.socket.destroyed) reply.send(error);
      }, request.routeOptions.config.deadline ?? limit);
      reply.raw.once('close', () => clearTimeout(timer));
    });
  },
  { name: 'deadline' },
);
