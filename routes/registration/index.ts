import type { App } from '../app.js';
import { confirmEmail } from './confirm-email.js';
import { register } from './register.js';
import { resendVerification } from './resend-verification.js';
import { verifyEmail } from './verify-email.js';

export async function registrationRoutes(app: App): Promise<void> {
  register(app);
  resendVerification(app);
  verifyEmail(app);
  confirmEmail(app);
}
