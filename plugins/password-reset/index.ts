import { definePlugin } from '../platform/plugin.js';
import { createPasswordReset, type PasswordReset } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    passwordReset: PasswordReset;
  }
}

/** `app.passwordReset`: lets users set a new password with a link from an email. */
export const passwordResetPlugin = definePlugin('password-reset', (services) => ({
  passwordReset: createPasswordReset(services),
}));
