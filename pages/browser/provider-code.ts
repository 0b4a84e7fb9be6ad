import { callWithCookie } from './api.js';
import { ApiFailure } from './api-failure.js';
import { codeOf, enableRecoveryCodes } from './code-field.js';
import { find, leaveTo, withQuery } from './dom.js';
import { handleForm } from './form.js';
import { page } from './page-data.js';
import { attemptedProvider, forgetAttempt } from './provider-attempt.js';

/**
 * Asks who is back from a provider for the code that completes the login, in the place of all else.
 * @returns whether it does: it cannot when the login was begun elsewhere
 */
export function startProviderCode(settled: Promise<void>): boolean {
  const provider = attemptedProvider();
  if (provider === undefined) return false;
  find('[data-ways]').replaceWith(find<HTMLTemplateElement>('[data-provider-code]').content);
  handleForm('#provider-code', 'provider_code', async (values) => {
    await settled;
    try {
      const path = `/auth/login/${encodeURIComponent(provider)}`;
      await callWithCookie('POST', path, { otp: codeOf(values), mode: 'session' });
    } catch (failure) {
      if (!(failure instanceof ApiFailure) || failure.code !== 'INVALID_CREDENTIALS') throw failure;
      // It took too long. Without a provider to complete it at, the same page says that it must be begun anew.
      forgetAttempt();
      location.reload();
      return;
    }
    forgetAttempt();
    await leaveTo(page.redirect);
  });
  enableRecoveryCodes();
  find('[data-leave-provider]').addEventListener('click', () => {
    forgetAttempt();
    location.assign(withQuery(page.links.login, { redirect: page.redirect }));
  });
  find<HTMLInputElement>('#provider-otp').focus();
  return true;
}
