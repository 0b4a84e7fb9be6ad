import { dialogNamed } from '../kit/dialogs.js';
import { find } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { watchNewPassword } from '../kit/password-strength.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { text } from '../kit/texts.js';
import { toast } from '../kit/toast.js';
import type { OwnAccount } from './own-account.js';

/** Lets the user choose another password, or a first one. */
export function startPassword(account: OwnAccount): void {
  const dialog = dialogNamed('password');
  handleForm('#password-form', 'password', async ({ password }) => {
    const isFirst = !account.me.has_password;
    await callSignedIn('POST', '/users/me/password', { password });
    if (isFirst) await account.refresh();
    dialog.close();
    toast(text(isFirst ? 'status_password_set' : 'status_password_changed'));
    // The button that opened the dialog has disappeared.
    if (isFirst) find('#password-edit').focus();
  });
  const { email, first_name, last_name } = account.me;
  const strength = watchNewPassword('new-password', () => ({ email, first_name, last_name }));
  dialog.addEventListener('close', strength.clear);
}
