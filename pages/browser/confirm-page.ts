import { callWithCookie } from './api.js';
import { ApiFailure } from './api-failure.js';
import { handleForm } from './form.js';
import { takeLinkToken } from './link-token.js';
import { showPart } from './parts.js';
import { failureText } from './texts.js';

/** What the page says of the link itself: trying again would not help. */
const linkFailures = new Set(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN']);

/** A page that a link in an email leads to, where a person confirms by a button: email scanners follow links, too. */
export function startConfirmPage(scope: 'confirm_email' | 'cancel_email', path: string): void {
  const token = takeLinkToken();
  if (!token) {
    showPart('dead', failureText(scope, new ApiFailure('INVALID_TOKEN')));
    return;
  }
  handleForm('#confirm', scope, async () => {
    try {
      // With the cookie: the session of this browser is the one that stays.
      await callWithCookie('POST', path, { token });
    } catch (failure) {
      if (!(failure instanceof ApiFailure) || !linkFailures.has(failure.code)) throw failure;
      showPart('dead', failureText(scope, failure));
      return;
    }
    showPart('done');
  });
}
