import { callAnonymously } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { onPress } from '../kit/busy.js';
import { find, setText } from '../kit/dom.js';
import { failureText, text } from '../kit/texts.js';
import { takeLinkToken } from './link-token.js';
import { type Link, page } from './page-data.js';
import { showPart } from './parts.js';

/** Failures that are caused by the link, so trying again would not help. */
const linkFailures = new Set(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN', 'INVALID_INVITE']);

export const isLinkFailure = (failure: unknown): failure is ApiFailure =>
  failure instanceof ApiFailure && linkFailures.has(failure.code);

/** A usable link from an email. */
export interface OpenLink {
  token: string;
  /** The address of the user; empty if it is not known. */
  email: string;
  proof: 'none' | 'password' | undefined;
  /** The account page to open after the login; undefined: the default one. */
  redirect: string | undefined;
}

/**
 * Takes the link that opened the page and shows whose it is. If the link cannot be used, explains why and what to do.
 * @param scope prefix of the texts about failures
 */
export function takeLink(scope: string): OpenLink | undefined {
  const token = takeLinkToken();
  const link = takeInspection();
  if (token === null || (link && 'reason' in link && link.reason !== 'SERVICE_UNAVAILABLE')) {
    const reason = token !== null && link && 'reason' in link ? link.reason : 'INVALID_TOKEN';
    showDeadLink(scope, token ?? '', reason);
    return undefined;
  }
  if (!link || !('email' in link)) return { token, email: '', proof: undefined, redirect: undefined };
  for (const place of document.querySelectorAll<HTMLElement>('[data-whose]')) {
    setText(place, link.email);
    place.hidden = false;
  }
  // Password managers store the new password for this address.
  for (const input of document.querySelectorAll<HTMLInputElement>('[data-username]')) input.value = link.email;
  return { token, email: link.email, proof: link.proof, redirect: link.redirect };
}

/**
 * Explains why a link cannot be used. A link that this service has issued can be sent again, to the stored address of the user. For any
 * other link, the page leads to the form that requests a new one.
 */
export function showDeadLink(scope: string, token: string, code: string): void {
  const part = showPart('dead', failureText(scope, new ApiFailure(code)));
  const button = part.querySelector<HTMLButtonElement>('[data-send-again]');
  if (!button) return;
  const status = find('[data-sent]', part);
  const signIn = find('[data-sign-in]', part);
  const startAgain = part.querySelector<HTMLElement>('[data-start-again]');
  // A registration expires together with its link, so there is nothing to send again.
  const canSendAgain = code !== 'INVALID_TOKEN' && !(code === 'TOKEN_EXPIRED' && page.page === 'verify-email');
  button.hidden = !canSendAgain;
  if (startAgain) startAgain.hidden = canSendAgain;
  const renewal = canSendAgain ? button : startAgain;
  // After a link was used, most users only have to sign in.
  const isSignInFirst = canSendAgain && code !== 'TOKEN_EXPIRED';
  if (isSignInFirst) renewal?.before(signIn);
  (isSignInFirst ? renewal : renewal && signIn)?.classList.replace('primary', 'secondary');
  onPress(button, async () => {
    try {
      await callAnonymously('POST', `/account/${page.page}/send-again`, { token });
      status.textContent = text('status_link_sent');
      button.disabled = true;
    } catch (failure) {
      status.textContent = failureText(scope, failure);
    }
  });
}

/** The service inspects the link only while the token is in the URL, so the result is stored in the history state for reloads. */
function takeInspection(): Link | undefined {
  const link = page.link ?? (history.state?.link as Link | undefined);
  history.replaceState({ ...history.state, link }, '');
  return link;
}
