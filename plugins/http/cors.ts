import cors, { type FastifyCorsOptions } from '@fastify/cors';
import { definePlugin } from '../platform/plugin.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options that differ from those of the API. To use them for all routes of a scope, pass them to `setProtocol`. */
    cors?: Pick<
      FastifyCorsOptions,
      'origin' | 'credentials' | 'methods' | 'allowedHeaders' | 'exposedHeaders' | 'maxAge'
    >;
  }
}

/**
 * Allows pages of the origins in CORS_ORIGIN to call the API from a browser and read the responses, with or without cookies.
 * Origins must match exactly. CORS is off by default, and responses then have no CORS headers.
 */
export const corsPlugin = definePlugin('http/cors', async ({ config }, app) => {
  const { CORS_ENABLED, CORS_ORIGIN } = config;
  // @fastify/cors handles all OPTIONS requests. Those that are not for it go to no route, as if it were not there.
  app.addHook('onRequest', (request, reply, next) => {
    const { origin, 'access-control-request-method': method } = request.headers;
    const isAllowed = CORS_ENABLED || request.routeOptions.config.cors !== undefined;
    if (request.method !== 'OPTIONS' || request.is404 || (isAllowed && origin && method)) return next();
    reply.callNotFound();
  });
  await app.register(cors, {
    origin: CORS_ENABLED && [...CORS_ORIGIN],
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'SEARCH'],
    allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'x-request-id'],
    exposedHeaders: ['x-request-id', 'retry-after', 'idempotency-replayed'],
    maxAge: 600,
  });
});
