import { callWithOwnSession } from '../kit/api.js';
import { handleForm } from '../kit/form.js';
import { isLinkFailure, showDeadLink, takeLink } from './link-page.js';
import { showPart } from './parts.js';

/** A page opened from a link in an email. The user must confirm with a button, because email scanners also open links. */
export function startConfirmPage(scope: 'confirm_email' | 'cancel_email' | 'not_me', path: string): void {
  const link = takeLink(scope);
  if (!link) return;
  handleForm('#confirm', scope, async () => {
    try {
      // The session of this browser does not end.
      await callWithOwnSession('POST', path, { token: link.token });
    } catch (failure) {
      if (!isLinkFailure(failure)) throw failure;
      showDeadLink(scope, link.token, failure.code);
      return;
    }
    showPart('done');
  });
}
