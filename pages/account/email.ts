import { onPress } from '../kit/busy.js';
import { dialogNamed } from '../kit/dialogs.js';
import { find } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { failureText, text } from '../kit/texts.js';
import { pageAlert, toast } from '../kit/toast.js';
import type { OwnAccount } from './own-account.js';

/** Lets the user request another address, and withdraw the request while it waits for confirmation. */
export function startEmail(account: OwnAccount): void {
  const dialog = dialogNamed('email');
  handleForm('#email-form', 'email', async ({ email = '' }) => {
    await callSignedIn('POST', '/users/me/email', { email });
    await account.refresh();
    dialog.close();
    const { pending_email: waiting } = account.me;
    toast(waiting === null ? text('status_email_same') : text('status_email_sent', { email: waiting }));
  });

  onPress(find('[data-pending-cancel]'), async () => {
    try {
      await callSignedIn('DELETE', '/users/me/email');
      await account.refresh();
      toast(text('status_email_canceled'));
      find('#email-edit').focus();
    } catch (failure) {
      pageAlert(failureText('email', failure));
    }
  });
}
