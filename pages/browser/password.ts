import { dialogNamed } from './dialogs.js';
import { handleForm } from './form.js';
import type { OwnAccount } from './own-account.js';
import { watchNewPassword } from './password-strength.js';
import { callSignedIn } from './signed-in-api.js';
import { text } from './texts.js';
import { toast } from './toast.js';

/** Lets the user choose another password. */
export function startPassword(account: OwnAccount): void {
  const dialog = dialogNamed('password');
  handleForm('#password-form', 'password', async ({ password }) => {
    await callSignedIn('POST', '/users/me/password', { password });
    dialog.close();
    toast(text('status_password_changed'));
  });
  const { email, first_name, last_name } = account.me;
  const strength = watchNewPassword('new-password', () => ({ email, first_name, last_name }));
  dialog.addEventListener('close', strength.clear);
}
