import { callAnonymously, endSessions, hasCookie } from '../kit/api.js';
import { find, withQuery } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { watchNewPassword } from '../kit/password-strength.js';
import { isLinkFailure, showDeadLink, takeLink } from './link-page.js';
import { page } from './page-data.js';
import { signInWith } from './sign-in.js';

/** A page opened from a link in an email, where the user chooses a password to reset it or to accept an invitation. */
export function startTokenPage(scope: 'reset' | 'invite', path: string): void {
  const link = takeLink(scope);
  if (!link) return;
  const { token, email } = link;
  // A user who accepts an invitation may not have given a name yet.
  const target = scope === 'invite' ? withQuery(page.links.account, { change: 'name' }) : page.links.account;
  watchNewPassword('password', () => ({ email }));
  handleForm(`#${scope}`, scope, async ({ password = '' }) => {
    try {
      await callAnonymously('POST', path, { token, password });
    } catch (failure) {
      if (!isLinkFailure(failure)) throw failure;
      showDeadLink(scope, token, failure.code);
      return;
    }
    // End an earlier session in this browser, because the user signs in next.
    if (hasCookie) await endSessions().catch(() => {});
    find<HTMLFormElement>(`#${scope}`).reset();
    await signInWith(email, password, target);
  });
}
