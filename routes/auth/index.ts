import type { App } from '../app.js';
import { checkPassword } from './check-password.js';
import { login } from './login.js';
import { logout } from './logout.js';
import { reauthenticate } from './reauthenticate.js';
import { refresh } from './refresh.js';
import { requestPasswordReset } from './request-password-reset.js';
import { resetPassword } from './reset-password.js';

export async function authRoutes(app: App): Promise<void> {
  if (!app.config.AUTH_DISABLE_DEFAULT) login(app);
  logout(app);
  refresh(app);
  reauthenticate(app);
  requestPasswordReset(app);
  resetPassword(app);
  checkPassword(app);
}
