import { find } from './dom.js';
import { handleForm } from './form.js';
import { type OwnAccount, readMe } from './own-account.js';
import { callSignedIn } from './signed-in-api.js';
import { text } from './texts.js';

/** Lets the user request another address, and withdraw the request while it waits for confirmation. */
export function showEmail({ me, hasSelfService }: OwnAccount): void {
  if (!hasSelfService) return;
  const section = find('[data-section=email]');
  const pending = find('[data-pending]', section);
  const cancel = find<HTMLButtonElement>('[data-pending-cancel]', section);

  const showPending = (email: string | null) => {
    pending.hidden = email === null;
    find('[data-pending-email]', section).textContent = email === null ? '' : text('status_email_pending', { email });
  };

  if (me.email === null) find('[data-email-lead]', section).textContent = text('status_email_none');
  const form = handleForm('#email-form', 'email', async ({ email = '' }, { element, showStatus }) => {
    await callSignedIn('POST', '/users/me/email', { email });
    const { pending_email: waiting } = await readMe();
    element.reset();
    showPending(waiting);
    showStatus(waiting === null ? text('status_email_same') : text('status_email_sent', { email: waiting }));
  });
  cancel.addEventListener('click', async () => {
    cancel.disabled = true;
    try {
      await callSignedIn('DELETE', '/users/me/email');
      showPending(null);
      form.showStatus(text('status_email_canceled'));
      find('h2', section).focus();
    } catch (failure) {
      form.showFailure(failure);
    } finally {
      cancel.disabled = false;
    }
  });
  showPending(me.pending_email);
  section.hidden = false;
}
