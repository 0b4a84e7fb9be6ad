import plugin from 'fastify-plugin';
import { deleteExpiredEmailChanges } from '../../../db/queries/users/email-changes.js';
import { hour } from '../../platform/scheduler.js';
import { createEmailChanges, type EmailChanges } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    emailChanges: EmailChanges;
  }
}

/** `app.emailChanges`: changes to the caller's own address, which must be confirmed through an email to the new address. */
export const emailChangesPlugin = plugin(
  async (app) => {
    const { db, clock, mail, linkTokens, stepUp, activity, config } = app;
    const emailChanges = createEmailChanges({
      db,
      clock,
      mail,
      linkTokens,
      stepUp,
      activity,
      lifetime: config.EMAIL_VERIFICATION_TOKEN_TTL,
      urls: {
        confirm: `${config.PUBLIC_URL}/account/confirm-email`,
        cancel: `${config.PUBLIC_URL}/account/cancel-email-change`,
      },
    });
    app.decorate('emailChanges', emailChanges);
    app.every(
      hour,
      () => deleteExpiredEmailChanges(app.maintenanceDb, clock()),
      'expired email changes could not be deleted',
    );
  },
  {
    name: 'email-changes',
    dependencies: ['config', 'database', 'clock', 'scheduler', 'mail', 'tokens', 'step-up', 'activity'],
  },
);
