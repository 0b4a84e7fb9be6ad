import type { App } from '../app.js';
import { register } from './register.js';
import { verifyEmail } from './verify-email.js';

export async function registrationRoutes(app: App): Promise<void> {
  register(app);
  verifyEmail(app);
}
