import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns the request that the current work belongs to. Null unless a configured feature needs this, because it takes time. */
    currentRequest: (() => FastifyRequest | undefined) | null;
  }
}

/** `app.currentRequest` */
export const currentRequestPlugin = plugin(
  async (app) => {
    const { SLOW_QUERY_MS, DATABASE_REQUEST_COMMENTS } = app.config;
    if (SLOW_QUERY_MS === 0 && !DATABASE_REQUEST_COMMENTS) {
      app.decorate('currentRequest', null);
      return;
    }
    const storage = new AsyncLocalStorage<FastifyRequest>();
    app.decorate('currentRequest', () => storage.getStore());
    // Hooks with callbacks, because everything that follows must run inside the context.
    app.addHook('onRequest', (request, _reply, next) => storage.run(request, next));
    // The body arrives in events outside the context, so enter it again.
    app.addHook('preValidation', (request, _reply, next) => storage.run(request, next));
  },
  { name: 'current-request', dependencies: ['config'] },
);
