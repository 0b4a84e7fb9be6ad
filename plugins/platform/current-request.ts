import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';
import { definePlugin } from './plugin.js';

declare module './plugin.js' {
  interface Services {
    /** Returns the request that the current work belongs to. Null unless a configured feature needs this, because it takes time. */
    currentRequest: (() => FastifyRequest | undefined) | null;
  }
}

/** `app.currentRequest` */
export const currentRequestPlugin = definePlugin('platform/current-request', ({ config }, app) => {
  const { SLOW_QUERY_MS, DATABASE_REQUEST_COMMENTS } = config;
  if (SLOW_QUERY_MS === 0 && !DATABASE_REQUEST_COMMENTS) return { currentRequest: null };
  const storage = new AsyncLocalStorage<FastifyRequest>();
  // Hooks with callbacks, because everything that follows must run inside the context.
  app.addHook('onRequest', (request, _reply, next) => storage.run(request, next));
  // The body arrives in events outside the context, so enter it again.
  app.addHook('preValidation', (request, _reply, next) => storage.run(request, next));
  return { currentRequest: () => storage.getStore() };
});
