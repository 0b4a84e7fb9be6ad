import { callInSession, callWithCookie, endSession } from './api.js';
import { ApiFailure } from './api-failure.js';
import { codeOf, enableRecoveryCodes } from './code-field.js';
import { find, leaveTo } from './dom.js';
import { type FormControl, handleForm } from './form.js';
import { page } from './page-data.js';
import { forgetAttempt, restoreQuery } from './provider-attempt.js';
import { startProviderCode } from './provider-code.js';
import { showProviders } from './providers.js';
import { failureText, text } from './texts.js';

export async function startLogin(): Promise<void> {
  await restoreQuery();
  const settled = page.hasSession ? settleSession() : Promise.resolve();
  if (page.reason === 'INVALID_OTP' && startProviderCode(settled)) return;
  forgetAttempt();
  if (page.offers.providers) showProviders();
  if (page.reason !== undefined) {
    find('[data-alert]').textContent = failureText('provider', new ApiFailure(page.reason));
  } else if (page.notice !== undefined) {
    find('[data-status]').textContent = text(page.notice === 'deleted' ? 'status_deleted' : 'status_signed_out');
  }
  if (page.offers.passwordLogin) startPasswordLogin(settled);
}

/**
 * Redirects users who are already signed in. Clears the session cookie if it is no longer valid.
 */
async function settleSession(): Promise<void> {
  try {
    await callInSession('GET', '/users/me?fields=id');
  } catch (failure) {
    if (failure instanceof ApiFailure && failure.isSignedOut) await endSession().catch(() => {});
    return;
  }
  await leaveTo(page.redirect);
}

function startPasswordLogin(settled: Promise<void>): void {
  handleForm('#login', 'login', async (values, form) => {
    await settled;
    const code = codeOf(values);
    try {
      await callWithCookie('POST', '/auth/login', {
        ...credentials(form, values),
        mode: 'session',
        ...(code ? { otp: code } : {}),
      });
    } catch (failure) {
      const isOtpFailure = failure instanceof ApiFailure && failure.code === 'INVALID_OTP';
      if (!isOtpFailure || code) throw onlyOnItsStep(form, failure);
      showStep(form, 'code');
      return;
    }
    await leaveTo(page.redirect);
  });

  enableRecoveryCodes();
  const startOver = find('[data-start-over]');
  startOver.addEventListener('click', () => showStep({ element: find('#login') }, 'credentials'));
}

/** The typed credentials, including those in fields that are hidden while the form asks for the code. */
function credentials({ element }: FormControl, { email, password }: Record<string, string>) {
  return {
    email: email ?? find<HTMLInputElement>('[name=email]', element).value,
    password: password ?? find<HTMLInputElement>('[name=password]', element).value,
  };
}

/** Returns to the step with the password if the failure is about the password. */
function onlyOnItsStep(form: FormControl, failure: unknown): unknown {
  if (failure instanceof ApiFailure && failure.code === 'INVALID_CREDENTIALS') showStep(form, 'credentials');
  return failure;
}

function showStep({ element }: Pick<FormControl, 'element'>, name: 'credentials' | 'code'): void {
  for (const step of element.querySelectorAll<HTMLElement>('[data-step]')) step.hidden = step.dataset.step !== name;
  find('[data-start-over]', element).hidden = name !== 'code';
  find('[data-others]').hidden = name === 'code';
  find('[data-alert]').textContent = '';
  const otp = find<HTMLInputElement>('[name=otp]', element);
  otp.value = '';
  if (name === 'code') otp.focus();
  else find<HTMLInputElement>('[name=password]', element).select();
}
