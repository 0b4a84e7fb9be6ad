import type { App } from '../app.js';
import { addPasskey } from './add-passkey.js';
import { listPasskeys } from './list-passkeys.js';
import { listPasskeysOfUser } from './list-passkeys-of-user.js';
import { removePasskey } from './remove-passkey.js';
import { removePasskeyOfUser } from './remove-passkey-of-user.js';
import { renamePasskey } from './rename-passkey.js';
import { startPasskeyRegistration } from './start-passkey-registration.js';

/** Under `/users`. */
export async function passkeysRoutes(app: App): Promise<void> {
  startPasskeyRegistration(app);
  addPasskey(app);
  listPasskeys(app);
  renamePasskey(app);
  removePasskey(app);
  listPasskeysOfUser(app);
  removePasskeyOfUser(app);
}
