import plugin from 'fastify-plugin';
import { createInvites, type Invites } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    invites: Invites;
  }
}

/** `app.invites`: invites users, and accepts their invitations. */
export const invitesPlugin = plugin(
  async (app) => {
    const { db, clock, mail, linkTokens, passwords, passwordRules, lockouts, rateLimits, activity, config, stepUp } =
      app;
    const invites = createInvites({
      db,
      clock,
      mail,
      linkTokens,
      passwords,
      passwordRules,
      lockouts,
      rateLimits,
      activity,
      defaultUrl: `${config.PUBLIC_URL}/account/accept-invite`,
      allowList: config.USER_INVITE_URL_ALLOW_LIST,
      maxBatch: config.MAX_BATCH_MUTATION,
      transactionSize: app.databaseConnection.engine === 'embedded' ? 50 : Number.POSITIVE_INFINITY,
      stepUp,
    });
    app.decorate('invites', invites);
  },
  {
    name: 'invites',
    dependencies: [
      'config',
      'clock',
      'database',
      'mail',
      'tokens',
      'passwords',
      'password-rules',
      'password-checks',
      'rate-limits',
      'access',
      'activity',
      'step-up',
    ],
  },
);
