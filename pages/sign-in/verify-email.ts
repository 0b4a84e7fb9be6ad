import { callWithCookie } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { find, leaveTo, withQuery } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { watchNewPassword } from '../kit/password-strength.js';
import { text } from '../kit/texts.js';
import { handOverEmail } from './handed-email.js';
import { isLinkFailure, showDeadLink, takeLink } from './link-page.js';
import { page } from './page-data.js';
import { signInWith } from './sign-in.js';

/** The page opened from the link in a verification email. Opening it changes nothing, because the user has to confirm. */
export function startVerifyEmail(): void {
  const link = takeLink('verify');
  if (!link) return;
  const { token, email, proof } = link;
  const place = find('[data-password]');
  watchNewPassword('password', () => ({ email }));

  const lead = (kind: 'click' | 'password') => {
    place.hidden = kind === 'click';
    find('[data-part=form] [data-text]').textContent = text(`status_verify_${kind}`);
  };
  lead(proof === 'password' ? 'password' : 'click');

  handleForm('#verify', 'verify', async ({ password = '' }, { element }) => {
    const isOneClick = place.hidden;
    try {
      await callWithCookie('POST', '/users/register/verify-email', { token, ...(isOneClick ? {} : { password }) });
    } catch (failure) {
      if (isLinkFailure(failure)) return showDeadLink('verify', token, failure.code);
      if (!(failure instanceof ApiFailure) || failure.code !== 'INVALID_PAYLOAD') throw failure;
      // Either the link is no longer valid, or the service does not recognize this browser as the one that registered.
      if (!isOneClick) return showDeadLink('verify', token, failure.code);
      lead('password');
      find('input[name=password]', place).focus();
      return;
    }
    element.reset();
    if (!isOneClick) return signInWith(email, password);
    handOverEmail(email);
    await leaveTo(withQuery(page.links.login, { notice: 'verified' }));
  });
}
