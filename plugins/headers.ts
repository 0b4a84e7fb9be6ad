import plugin from 'fastify-plugin';

/**
 * What every answer carries: the id of its request and, but for the API reference, the word that nobody may keep it:
 * answers hold tokens and personal data.
 */
export const headersPlugin = plugin(
  async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      reply.header('x-request-id', request.id);
      if (request.routeOptions.config.access !== 'open') reply.header('cache-control', 'no-store');
    });
  },
  { name: 'headers' },
);
