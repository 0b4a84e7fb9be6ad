import type { App } from '../app.js';
import { createRecoveryCodes } from './create-recovery-codes.js';
import { disableTfa } from './disable-tfa.js';
import { disableTfaOfUser } from './disable-tfa-of-user.js';
import { enableTfa } from './enable-tfa.js';
import { generateTfaSecret } from './generate-tfa-secret.js';

export async function tfaRoutes(app: App): Promise<void> {
  generateTfaSecret(app);
  enableTfa(app);
  disableTfa(app);
  createRecoveryCodes(app);
  disableTfaOfUser(app);
}
