import { definePlugin } from '../../platform/plugin.js';
import { hour } from '../../platform/scheduler.js';
import { createLockouts, type Lockouts } from './lockouts.js';
import { createPasswordChecks, type PasswordChecks } from './service.js';
import { createSignInStates, type SignInStates } from './sign-in-states.js';

declare module '../../platform/plugin.js' {
  interface Services {
    passwordChecks: PasswordChecks;
    lockouts: Lockouts;
    signInStates: SignInStates;
  }
}

/** `app.passwordChecks`: checks the passwords of accounts. `app.lockouts`: slows down guessing. `app.signInStates`: why users cannot sign in. */
export const passwordChecksPlugin = definePlugin('passwords/checks', (services) => {
  const { every } = services;
  const lockouts = createLockouts(services);
  every(hour, () => lockouts.deleteExpired(), 'old login attempts could not be deleted');
  return {
    lockouts,
    passwordChecks: createPasswordChecks(services, lockouts),
    signInStates: createSignInStates(services),
  };
});
