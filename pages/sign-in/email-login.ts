import { callWithCookie, endSessions, hasCookie } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { handleForm } from '../kit/form.js';
import { rememberWay } from './last-way.js';
import { isLinkFailure, showDeadLink, takeLink } from './link-page.js';
import { page } from './page-data.js';
import { signIn } from './sign-in.js';

/** The page opened from the link in an email to sign in. It works in any browser, not only in the one that requested the email. */
export function startEmailLogin(): void {
  const link = takeLink('email_login');
  if (!link) return;
  const { token, redirect = page.redirect } = link;

  const login = async (otp?: string) => {
    await callWithCookie('POST', '/auth/email', { token, mode: 'session', ...(otp ? { otp } : {}) });
    rememberWay('email');
  };
  const handleFailure = (failure: unknown) => {
    const isUsed = failure instanceof ApiFailure && failure.code === 'INVALID_CREDENTIALS';
    if (!isUsed && !isLinkFailure(failure)) return false;
    showDeadLink('email_login', token, failure.code);
    return true;
  };

  handleForm('#email-login', 'email_login', async () => {
    // End an earlier session in this browser, which may be that of another user.
    if (hasCookie) await endSessions().catch(() => {});
    await signIn(login, redirect, handleFailure);
  });
}
