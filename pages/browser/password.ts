import { callSignedIn } from './api.js';
import { find } from './dom.js';
import { handleForm } from './form.js';
import type { OwnAccount } from './own-account.js';
import { text } from './texts.js';

/** Lets the user choose another password. @returns whether they may */
export function showPassword({ me, mayUpdate }: OwnAccount): boolean {
  const isOwn = me.provider === undefined || me.provider === 'default';
  if (!isOwn || !mayUpdate('password')) return false;
  handleForm('#password-form', 'password', async ({ password }, { element, showStatus }) => {
    await callSignedIn('PATCH', '/users/me', { password });
    find<HTMLInputElement>('[name=password]', element).value = '';
    showStatus(text('status_password_changed'));
  });
  find('[data-section=password]').hidden = false;
  return true;
}
