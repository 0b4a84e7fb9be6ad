import plugin from 'fastify-plugin';
import { createMailboxAccess } from './access.js';
import { createMailbox, type Mailbox } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    mailbox: Mailbox;
  }
}

/** `app.mailbox`: emails that were stored instead of being sent. */
export const mailboxPlugin = plugin(
  async (app) => {
    app.decorate('mailbox', createMailbox({ db: app.db, access: createMailboxAccess(app.config.MAILBOX_KEY) }));
  },
  { name: 'mailbox', dependencies: ['database', 'mail'] },
);
