import { compactUserCounts } from '../../db/queries/users/user-counts.js';
import { definePlugin } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { type ChangePassword, createChangePassword } from './change-password.js';
import { createDisableTwoFactor, type DisableTwoFactor } from './disable-two-factor.js';
import { createUsers, type Users } from './service.js';
import { createUnlockUser, type UnlockUser } from './unlock-user.js';
import { createUserWriteRules } from './write-rules.js';

declare module '../platform/plugin.js' {
  interface Services {
    users: Users;
    changePassword: ChangePassword;
    unlockUser: UnlockUser;
    disableTwoFactor: DisableTwoFactor;
  }
}

/**
 * `app.users`: the caller's own user, roles and permissions. `app.changePassword`: changes the caller's own password.
 * `app.unlockUser` and `app.disableTwoFactor`: help a user who is locked out.
 */
export const usersPlugin = definePlugin('users', (services) => {
  const { maintenanceDb, writeRules, every } = services;
  writeRules.users = createUserWriteRules(services);
  every(hour, () => compactUserCounts(maintenanceDb), 'the user counts could not be consolidated');
  return {
    users: createUsers(services),
    changePassword: createChangePassword(services),
    disableTwoFactor: createDisableTwoFactor(services),
    unlockUser: createUnlockUser(services),
  };
});
