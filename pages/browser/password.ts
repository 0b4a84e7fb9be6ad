import { find } from './dom.js';
import { handleForm } from './form.js';
import type { OwnAccount } from './own-account.js';
import { callSignedIn } from './signed-in-api.js';
import { text } from './texts.js';

/** Lets the user choose another password. */
export function showPassword({ me, mustSetUpTfa }: OwnAccount): void {
  if (!me.has_password || mustSetUpTfa) return;
  handleForm('#password-form', 'password', async ({ password }, { element, showStatus }) => {
    await callSignedIn('POST', '/users/me/password', { password });
    find<HTMLInputElement>('[name=password]', element).value = '';
    showStatus(text('status_password_changed'));
  });
  find('[data-section=password]').hidden = false;
}
