import plugin from 'fastify-plugin';
import { compactUserCounts } from '../../db/queries/users/user-counts.js';
import { hour } from '../platform/scheduler.js';
import { type ChangePassword, createChangePassword } from './change-password.js';
import { createDisableTwoFactor, type DisableTwoFactor } from './disable-two-factor.js';
import { createUsers, type Users } from './service.js';
import { createUnlockUser, type UnlockUser } from './unlock-user.js';
import { createUserWriteRules } from './write-rules.js';

declare module 'fastify' {
  interface FastifyInstance {
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
export const usersPlugin = plugin(
  async (app) => {
    const { config, db, clock, lockouts, items, stepUp, ownPassword, passwords, passwordRules, activity } = app;
    const { signInMethods } = app;
    app.decorate('users', createUsers({ db, items }));
    app.writeRules.users = createUserWriteRules({
      db,
      passwords,
      passwordRules,
      clock,
      stepUp,
      ownPassword,
      signInMethods,
      // The plugin that provides `app.emailChanges` is registered later.
      emailChanges: config.EMAIL_CHANGE_CONFIRMATION
        ? {
            start: (tx, caller, email) => app.emailChanges.start(tx, caller, email),
            pendingEmailOf: (userId) => app.emailChanges.pendingEmailOf(userId),
          }
        : null,
    });
    app.decorate(
      'changePassword',
      createChangePassword({ db, stepUp, ownPassword, signInMethods, passwords, passwordRules, activity }),
    );
    app.decorate('disableTwoFactor', createDisableTwoFactor({ db, clock, stepUp, activity }));
    app.decorate('unlockUser', createUnlockUser({ db, clock, stepUp, lockouts, activity }));
    app.every(hour, () => compactUserCounts(app.maintenanceDb), 'the user counts could not be consolidated');
  },
  {
    name: 'users',
    dependencies: [
      'config',
      'database',
      'clock',
      'scheduler',
      'items',
      'step-up',
      'sign-in-methods',
      'password-checks',
      'passwords',
      'password-rules',
      'activity',
    ],
  },
);
