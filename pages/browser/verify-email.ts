import { callWithCookie } from './api.js';
import { ApiFailure } from './api-failure.js';
import { find } from './dom.js';
import { handleForm } from './form.js';
import { takeLinkToken } from './link-token.js';
import { type Confirmation, page } from './page-data.js';
import { showPart } from './parts.js';
import { failureText, text } from './texts.js';

/** Failures that are caused by the link, so another password would not help. */
const linkFailures = new Set(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN']);

/** The page opened from the link in a verification email. Opening it changes nothing, because the user has to confirm. */
export function startVerifyEmail(): void {
  if (!document.getElementById('verify')) return;
  const token = takeLinkToken();
  if (!token) {
    showDead('INVALID_TOKEN');
    return;
  }
  const confirmation = takeConfirmation();
  if (confirmation && 'reason' in confirmation && confirmation.reason !== 'SERVICE_UNAVAILABLE') {
    showDead(confirmation.reason);
    return;
  }
  const known = confirmation && 'proof' in confirmation ? confirmation : undefined;
  const password = find('[data-password]');

  const lead = (kind: 'click' | 'password') => {
    password.hidden = kind === 'click';
    find('[data-part=form] [data-text]').textContent = text(`status_verify_${kind}`);
  };
  if (known) {
    const place = find('[data-email]');
    place.textContent = known.email;
    place.hidden = false;
  }
  lead(known?.proof === 'password' ? 'password' : 'click');

  handleForm('#verify', 'verify', async (values, { element }) => {
    const isOneClick = password.hidden;
    try {
      await callWithCookie('POST', '/users/register/verify-email', {
        token,
        ...(isOneClick ? {} : { password: values.password }),
      });
    } catch (failure) {
      if (!(failure instanceof ApiFailure)) throw failure;
      if (linkFailures.has(failure.code)) return showDead(failure.code);
      if (failure.code !== 'INVALID_PAYLOAD') throw failure;
      // Either the link is no longer valid, or the service does not recognize this browser as the one that registered.
      if (!isOneClick) return showDead(failure.code);
      lead('password');
      find('input', password).focus();
      return;
    }
    element.reset();
    showPart('done');
  });
}

const showDead = (code: string): void => {
  showPart('dead', failureText('verify', new ApiFailure(code)));
};

/** The service sends it only while the token is in the URL, so it is stored in the history state for reloads. */
function takeConfirmation(): Confirmation | undefined {
  const confirmation = page.confirmation ?? (history.state?.confirmation as Confirmation | undefined);
  history.replaceState({ ...history.state, confirmation }, '');
  return confirmation;
}
