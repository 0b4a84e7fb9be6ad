import type { FastifyRequest } from 'fastify';
import { addRouteHook } from '../../http/route-hooks.js';
import { definePlugin } from '../../platform/plugin.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The setting `self_service` can switch the route off for everyone except administrators. */
    isSelfService?: boolean;
  }
}

/** Rejects requests for routes that `self_service` has switched off, before their body is read. */
export const selfServicePlugin = definePlugin('users/self-service', ({ ownAccount }, app) => {
  const requireSelfService = async ({ currentUser }: FastifyRequest) => ownAccount.requireSelfService(currentUser);
  app.addHook('onRoute', (route) => {
    if (route.config?.isSelfService) addRouteHook(route, 'onRequest', requireSelfService);
  });
});
