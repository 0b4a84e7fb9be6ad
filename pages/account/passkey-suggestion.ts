import { platformAuthenticatorIsAvailable } from '@simplewebauthn/browser';
import { find } from '../kit/dom.js';
import { focusHeading } from '../kit/heading.js';
import { forgetPasswordLogin, hasPasswordLogin } from '../kit/password-login.js';
import { ifAllowed } from '../kit/storage.js';
import { page } from './page-data.js';

/** Each user of a shared device decides for themselves. */
const keyOf = (userId: string) => `${page.base}/account/passkey-suggestion/${userId}`;

/** Milliseconds: 90 days. */
const pauseMs = 90 * 24 * 60 * 60_000;

/** Milliseconds. The account page stays hidden until the browser has said whether the device can hold a passkey. */
const maxWaitMs = 1_000;

/**
 * Suggests a passkey to users who have just signed in with a password and have no passkey, if their device can hold one. The
 * suggestion is a part of the page: it does not move the focus, and nothing waits for an answer.
 */
export async function suggestPasskey(userId: string, add: (button: HTMLButtonElement) => unknown): Promise<void> {
  if (!hasPasswordLogin() || isPaused(userId) || !(await canHoldPasskey())) return;
  const suggestion = find('[data-passkey-suggestion]');
  const accept = find<HTMLButtonElement>('[data-accept]', suggestion);
  accept.addEventListener('click', () => add(accept));
  find('[data-decline]', suggestion).addEventListener('click', () => endPasskeySuggestion(userId));
  suggestion.hidden = false;
}

/** Removes the suggestion, and does not show it on this device for some time. */
export function endPasskeySuggestion(userId: string): void {
  forgetPasswordLogin();
  // Without storage, the suggestion returns after the next login.
  ifAllowed(() => localStorage.setItem(keyOf(userId), String(Date.now())));
  const suggestion = find('[data-passkey-suggestion]');
  const hadFocus = suggestion.contains(document.activeElement);
  suggestion.hidden = true;
  if (hadFocus) focusHeading();
}

function isPaused(userId: string): boolean {
  const since = ifAllowed(() => localStorage.getItem(keyOf(userId))) ?? null;
  return since !== null && Date.now() - Number(since) < pauseMs;
}

const canHoldPasskey = (): Promise<boolean> =>
  Promise.race([
    platformAuthenticatorIsAvailable().catch(() => false),
    new Promise<boolean>((resolve) => setTimeout(resolve, maxWaitMs, false)),
  ]);
