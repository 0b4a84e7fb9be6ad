import { call, Failure, isDeadLink } from './gatehouse.js';
import { find, onSubmit, showPart, takeToken } from './page.js';

const token = takeToken();
const newPassword = /** @type {HTMLFieldSetElement} */ (find('#new-password'));

// Email scanners open links too, so the address is confirmed only when the user clicks the button.
onSubmit(async ({ password }) => {
  try {
    await call('/users/register/verify-email', { token, ...(password && { password }) });
    showPart('done');
  } catch (error) {
    if (isDeadLink(error)) return showPart('dead');
    if (!(error instanceof Failure) || error.code !== 'INVALID_PAYLOAD') throw error;
    // In a browser other than the one that was used to register, the user must set a password. If the request already
    // had a password, this error means that the link has been used.
    if (password) return showPart('dead');
    find('#lead').textContent = 'You are using a different browser. Set the password of your account to confirm.';
    newPassword.hidden = newPassword.disabled = false;
    find('#password').focus();
  }
});
