import { callWithCookie } from './api.js';
import { ApiFailure } from './api-failure.js';
import { handleForm } from './form.js';
import { takeLinkToken } from './link-token.js';
import { showPart } from './parts.js';
import { failureText } from './texts.js';

/** Failures that are caused by the link, so trying again would not help. */
const linkFailures = new Set(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN']);

/** A page opened from a link in an email. The user must confirm with a button, because email scanners also open links. */
export function startConfirmPage(scope: 'confirm_email' | 'cancel_email', path: string): void {
  const token = takeLinkToken();
  if (!token) {
    showPart('dead', failureText(scope, new ApiFailure('INVALID_TOKEN')));
    return;
  }
  handleForm('#confirm', scope, async () => {
    try {
      // With the cookie, so that the session of this browser does not end.
      await callWithCookie('POST', path, { token });
    } catch (failure) {
      if (!(failure instanceof ApiFailure) || !linkFailures.has(failure.code)) throw failure;
      showPart('dead', failureText(scope, failure));
      return;
    }
    showPart('done');
  });
}
