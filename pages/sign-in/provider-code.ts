import { callWithCookie } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { codeOf, enableCodeFields } from '../kit/code-field.js';
import { find, leaveTo, withQuery } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { attemptedProvider, forgetAttempt } from '../kit/provider-attempt.js';
import { rememberWay } from './last-way.js';
import { page } from './page-data.js';

/**
 * Asks a user who returned from a provider for the code that completes the login. Replaces all other ways to sign in.
 * @returns `false` if the login was not started on these pages, so the provider is unknown
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
      // The login has expired. Without the stored attempt, the reloaded page asks the user to start again.
      forgetAttempt();
      location.reload();
      return;
    }
    forgetAttempt();
    rememberWay(`provider:${provider}`);
    await leaveTo(page.redirect);
  });
  enableCodeFields(find('#provider-code'));
  find('[data-leave-provider]').addEventListener('click', () => {
    forgetAttempt();
    const { redirect, returnTo } = page;
    location.assign(withQuery(page.links.login, returnTo === undefined ? { redirect } : { return_to: returnTo }));
  });
  find<HTMLInputElement>('#provider-otp').focus();
  return true;
}
