import { callWithCookie } from '../kit/api.js';
import { find } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { rejectionOf, watchNewPassword } from '../kit/password-strength.js';
import { rememberAttempts } from '../kit/provider-attempt.js';
import { text } from '../kit/texts.js';
import { handOverWith, takeHandedEmail } from './handed-email.js';
import { page } from './page-data.js';
import { showPart } from './parts.js';
import { offerResend } from './resend.js';

/** The API responds identically whether an account was created or not, so the page says what comes next in either case. */
export function startRegister(): void {
  rememberAttempts();
  if (!document.getElementById('register')) return;
  const typed = (id: string) => find<HTMLInputElement>(`#${id}`).value;
  takeHandedEmail(find('#email'));
  let registered = '';
  handOverWith('[data-hands-over]', () => registered || typed('email'));
  watchNewPassword('password', () => ({
    email: typed('email'),
    first_name: typed('first-name'),
    last_name: typed('last-name'),
  }));
  handleForm('#register', 'register', async ({ email = '', password, first_name, last_name }, { element }) => {
    const names = { ...(first_name ? { first_name } : {}), ...(last_name ? { last_name } : {}) };
    const registration = { email, password, ...names };
    // Registration does not report a rejected password.
    const rejection = await rejectionOf(registration);
    if (rejection) throw rejection;
    // With cookies, because the cookie in the response lets this browser confirm with one click.
    await callWithCookie('POST', '/users/register', registration);
    element.reset();
    registered = email;
    const variant = page.verifiesEmail ? 'mail' : 'direct';
    const part = find('[data-part=done]');
    find('[data-title]', part).textContent = text(`status_register_${variant}_title`);
    find('[data-hint]', part).textContent = text(`status_register_${variant}_hint`);
    if (page.verifiesEmail) offerResend(part, email);
    showPart('done', text(`status_register_${variant}`, { email }));
  });
}
