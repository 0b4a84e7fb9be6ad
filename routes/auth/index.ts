import type { App } from '../app.js';
import { checkPasskey } from './check-passkey.js';
import { checkPassword } from './check-password.js';
import { login } from './login.js';
import { loginWithEmail } from './login-with-email.js';
import { loginWithPasskey } from './login-with-passkey.js';
import { logout } from './logout.js';
import { reauthenticate } from './reauthenticate.js';
import { refresh } from './refresh.js';
import { requestEmailLogin } from './request-email-login.js';
import { requestPasswordReset } from './request-password-reset.js';
import { resetPassword } from './reset-password.js';
import { startPasskeyLogin } from './start-passkey-login.js';

export async function authRoutes(app: App): Promise<void> {
  if (!app.config.AUTH_DISABLE_DEFAULT) login(app);
  requestEmailLogin(app);
  loginWithEmail(app);
  if (app.config.AUTH_PASSKEYS) {
    startPasskeyLogin(app);
    loginWithPasskey(app);
    checkPasskey(app);
  }
  logout(app);
  refresh(app);
  reauthenticate(app);
  requestPasswordReset(app);
  resetPassword(app);
  checkPassword(app);
}
