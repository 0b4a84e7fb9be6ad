import {
  callAnonymously,
  callInSession,
  callWithCookie,
  endSessions,
  hasCookie,
  withEitherCookie,
} from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { onPress } from '../kit/busy.js';
import { codeOf } from '../kit/code-field.js';
import { find, leaveTo } from '../kit/dom.js';
import { type FormControl, handleForm } from '../kit/form.js';
import { forgetPasswordLogin, rememberPasswordLogin } from '../kit/password-login.js';
import { attemptedProvider, forgetAttempt, rememberAttempts, restoreQuery } from '../kit/provider-attempt.js';
import { failureText, text } from '../kit/texts.js';
import { startEmailCode } from './email-code.js';
import { handOverWith, takeHandedEmail } from './handed-email.js';
import { markLastWay, rememberWay } from './last-way.js';
import { page } from './page-data.js';
import { showStep } from './parts.js';
import { startPasskeyLogin } from './passkey-login.js';
import { startProviderCode } from './provider-code.js';

const notices = { 'signed-out': 'status_signed_out', deleted: 'status_deleted', verified: 'status_verified' } as const;

export async function startLogin(): Promise<void> {
  await restoreQuery();
  markLastWay();
  const settled = hasCookie && !page.signsInAgain ? checkExistingSession(attemptedProvider()) : Promise.resolve();
  if (page.reason === 'INVALID_OTP' && startProviderCode(settled)) return;
  forgetAttempt();
  forgetPasswordLogin();
  rememberAttempts();
  if (page.reason !== undefined) {
    find('[data-alert]').textContent = failureText('provider', new ApiFailure(page.reason));
  } else if (page.notice !== undefined) {
    find('[data-status]').textContent = text(notices[page.notice]);
  }
  if (page.offers.passwordLogin) startPasswordLogin(settled);
  if (page.offers.emailLogin) startEmailCode(settled);
  if (page.offers.passkeys) startPasskeyLogin(settled);
}

/**
 * Redirects users who are already signed in. Clears the cookies if they are no longer valid.
 * @param provider from which the user has just returned
 */
async function checkExistingSession(provider: string | undefined): Promise<void> {
  try {
    await withEitherCookie(() => callInSession('GET', '/users/me?fields=id'));
  } catch (failure) {
    if (failure instanceof ApiFailure && failure.isSignedOut) await endSessions().catch(() => {});
    return;
  }
  if (provider !== undefined) rememberWay(`provider:${provider}`);
  await leaveTo(page.redirect);
}

function startPasswordLogin(settled: Promise<void>): void {
  const loginForm = handleForm('#login', 'login', async (values, form) => {
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
      if (!isOtpFailure || code) throw returnToPasswordStep(form, failure);
      switchTo(form, 'code');
      return;
    }
    rememberPasswordLogin();
    rememberWay('password');
    await leaveTo(page.redirect);
  });

  offerReset(loginForm);
  const email = find<HTMLInputElement>('#email');
  handOverWith('[data-hands-over]', () => email.value);
  if (page.loginHint !== undefined && email.value === '') email.value = page.loginHint;
  if (takeHandedEmail(email) || email.value !== '') find('#password').focus();
  else email.focus();
  const startOver = find('[data-start-over]');
  startOver.addEventListener('click', () => switchTo({ element: find('#login') }, 'credentials'));
}

/** The typed credentials, including those in fields that are hidden while the form asks for the code. */
function credentials({ element }: FormControl, { email, password }: Record<string, string>) {
  return {
    email: email ?? find<HTMLInputElement>('[name=email]', element).value,
    password: password ?? find<HTMLInputElement>('[name=password]', element).value,
  };
}

/** Returns to the step with the password if the failure is about the password. */
function returnToPasswordStep(form: FormControl, failure: unknown): unknown {
  if (failure instanceof ApiFailure && failure.code === 'INVALID_CREDENTIALS') {
    switchTo(form, 'credentials');
    // The service does not reveal why the sign-in failed, so everyone is offered the same.
    find('[data-forgot]').hidden = true;
    find('[data-help-reset]').hidden = false;
  }
  return failure;
}

/** After a failed sign-in, the link to reset the password becomes a button that requests the email. */
function offerReset(form: FormControl): void {
  const alert = find('[data-alert]');
  onPress(find('[data-help-reset]'), async () => {
    const { value: email } = find<HTMLInputElement>('#email');
    try {
      await callAnonymously('POST', '/auth/password/request', { email });
      form.showStatus(text('status_forgot_done', { email }));
    } catch (failure) {
      alert.textContent = failureText('help', failure);
    }
  });
}

function switchTo({ element }: Pick<FormControl, 'element'>, name: 'credentials' | 'code'): void {
  showStep(element, name);
  find('[data-start-over]', element).hidden = name !== 'code';
  find('[data-others]').hidden = name === 'code';
  find('[data-alert]').textContent = '';
  const otp = find<HTMLInputElement>('[name=otp]', element);
  otp.value = '';
  const field = name === 'code' ? otp : find<HTMLInputElement>('[name=password]', element);
  field.focus();
  field.select();
}
