import { callAnonymously, endSession } from './api.js';
import { ApiFailure } from './api-failure.js';
import { find } from './dom.js';
import { handleForm } from './form.js';
import { takeLinkToken } from './link-token.js';
import { page } from './page-data.js';
import { showPart } from './parts.js';
import { failureText } from './texts.js';

/** Failures that are caused by the link, so another password would not help. */
const linkFailures = new Set(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN', 'INVALID_INVITE']);

/** A page opened from a link in an email, where the user chooses a password to reset it or to accept an invitation. */
export function startTokenPage(scope: 'reset' | 'invite', path: string): void {
  const token = takeLinkToken();
  if (!token) {
    showPart('dead', failureText(scope, new ApiFailure('INVALID_TOKEN')));
    return;
  }
  handleForm(`#${scope}`, scope, async ({ password }) => {
    try {
      await callAnonymously('POST', path, { token, password });
    } catch (failure) {
      if (!(failure instanceof ApiFailure) || !linkFailures.has(failure.code)) throw failure;
      showPart('dead', failureText(scope, failure));
      return;
    }
    // End an earlier session in this browser, because the user signs in again next.
    if (page.hasSession) await endSession().catch(() => {});
    find<HTMLFormElement>(`#${scope}`).reset();
    showPart('done');
  });
}
