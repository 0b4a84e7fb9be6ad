import plugin from 'fastify-plugin';
import { createMailbox, type Mailbox } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    mailbox: Mailbox;
  }
}

/** `app.mailbox`: the mails that went nowhere. */
export const mailboxPlugin = plugin(
  async (app) => {
    app.decorate('mailbox', createMailbox({ db: app.db, publicUrl: app.config.PUBLIC_URL }));
  },
  { name: 'mailbox', dependencies: ['database', 'mail'] },
);
