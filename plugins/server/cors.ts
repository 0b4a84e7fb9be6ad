import cors from '@fastify/cors';
import plugin from 'fastify-plugin';
import { routeNotFound } from '../../schemas/errors.js';

/**
 * Allows pages of the origins in CORS_ORIGIN to call the API from a browser and read the responses, with or without cookies.
 * Origins must match exactly. CORS is off by default, and responses then have no CORS headers.
 */
export const corsPlugin = plugin(
  async (app) => {
    const { CORS_ENABLED, CORS_ORIGIN } = app.config;
    if (!CORS_ENABLED) return;
    // @fastify/cors would respond to other OPTIONS requests in its own format.
    app.addHook('onRequest', async (request) => {
      const { origin, 'access-control-request-method': method } = request.headers;
      if (request.method === 'OPTIONS' && !(origin && method)) throw routeNotFound(request);
    });
    await app.register(cors, {
      origin: [...CORS_ORIGIN],
      credentials: true,
      methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'SEARCH'],
      allowedHeaders: ['authorization', 'content-type', 'x-request-id'],
      exposedHeaders: ['x-request-id', 'retry-after'],
      maxAge: 600,
    });
  },
  { name: 'cors', dependencies: ['config', 'errors'] },
);
