import { callAnonymously, endSession } from './api.js';
import { ApiFailure } from './api-failure.js';
import { find } from './dom.js';
import { handleForm } from './form.js';
import { takeLinkToken } from './link-token.js';
import { page } from './page-data.js';
import { showPart } from './parts.js';
import { failureText } from './texts.js';

/** What is said of the link itself: no other password would help. */
const linkFailures = new Set(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN', 'INVALID_INVITE']);

/** A page that a link in a mail leads to, where a password is chosen: for a reset, or to accept an invitation. */
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
    // Whoever was signed in here before, it is another session that follows now.
    if (page.hasSession) await endSession().catch(() => {});
    find<HTMLFormElement>(`#${scope}`).reset();
    showPart('done');
  });
}
