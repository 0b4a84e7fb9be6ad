import cors from '@fastify/cors';
import plugin from 'fastify-plugin';
import { routeNotFound } from './errors.js';

/**
 * Lets pages of the origins in CORS_ORIGIN, and of no other, call the API from a browser and read its answers, with cookies
 * too. Origins are compared to the letter. Switched off, which is the default, no answer says anything of it.
 */
export const corsPlugin = plugin(
  async (app) => {
    const { CORS_ENABLED, CORS_ORIGIN } = app.config;
    if (!CORS_ENABLED) return;
    // It would answer other requests of this method in a form of its own.
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
