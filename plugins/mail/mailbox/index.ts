import { definePlugin } from '../../platform/plugin.js';
import { createMailboxAccess } from './access.js';
import { createMailbox, type Mailbox } from './service.js';

declare module '../../platform/plugin.js' {
  interface Services {
    mailbox: Mailbox;
  }
}

/** `app.mailbox`: emails that were stored instead of being sent. */
export const mailboxPlugin = definePlugin('mail/mailbox', ({ db, config }) => ({
  mailbox: createMailbox({ db, access: createMailboxAccess(config.MAILBOX_KEY) }),
}));
