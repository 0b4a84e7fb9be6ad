import { definePlugin } from '../platform/plugin.js';
import { createInvites, type Invites } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    invites: Invites;
  }
}

/** `app.invites`: invites users, and accepts their invitations. */
export const invitesPlugin = definePlugin('invites', (services) => ({ invites: createInvites(services) }));
