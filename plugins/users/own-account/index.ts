import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { addRouteHook } from '../../http/route-hooks.js';
import { createOwnAccount, type OwnAccount } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    ownAccount: OwnAccount;
  }
  interface FastifyContextConfig {
    /** The setting `self_service` can switch the route off for everyone except administrators. */
    isSelfService?: boolean;
  }
}

/** `app.ownAccount`: operations of users on their own account, whatever their permissions. */
export const ownAccountPlugin = plugin(
  async (app) => {
    const { config, db, clock, activity } = app;
    const ownAccount = createOwnAccount({ db, clock, activity, acceptsPasskeys: config.AUTH_PASSKEYS });
    app.decorate('ownAccount', ownAccount);
    // Runs before the body is read, so that callers who may not use the operation are rejected first.
    const requireSelfService = async ({ currentUser }: FastifyRequest) => ownAccount.requireSelfService(currentUser);
    app.addHook('onRoute', (route) => {
      if (route.config?.isSelfService) addRouteHook(route, 'onRequest', requireSelfService);
    });
  },
  { name: 'own-account', dependencies: ['config', 'database', 'clock', 'activity', 'access'] },
);
