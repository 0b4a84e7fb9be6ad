import { definePlugin } from '../../platform/plugin.js';
import { createOwnAccount, type OwnAccount } from './service.js';

declare module '../../platform/plugin.js' {
  interface Services {
    ownAccount: OwnAccount;
  }
}

/** `app.ownAccount`: operations of users on their own account, whatever their permissions. */
export const ownAccountPlugin = definePlugin('users/own-account', (services) => ({
  ownAccount: createOwnAccount(services),
}));
