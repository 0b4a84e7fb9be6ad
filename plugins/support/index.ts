import { definePlugin } from '../platform/plugin.js';
import { createMailsOfUsers, type MailsOfUsers } from './mails-of-users.js';
import { createSessionsOfUsers, type SessionsOfUsers } from './sessions-of-users.js';

declare module '../platform/plugin.js' {
  interface Services {
    mailsOfUsers: MailsOfUsers;
    sessionsOfUsers: SessionsOfUsers;
  }
}

/** `app.mailsOfUsers` and `app.sessionsOfUsers`: what administrators and support staff see of other users, and do for them. */
export const supportPlugin = definePlugin('support', (services) => ({
  mailsOfUsers: createMailsOfUsers(services),
  sessionsOfUsers: createSessionsOfUsers(services),
}));
