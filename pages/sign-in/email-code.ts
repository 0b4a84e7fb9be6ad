import { callWithCookie } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { onPress } from '../kit/busy.js';
import { codeOf, withoutSpaces } from '../kit/code-field.js';
import { find, leaveTo } from '../kit/dom.js';
import { handleForm, isFilledIn } from '../kit/form.js';
import { resendPause, startPause } from '../kit/resend-pause.js';
import { failureText, text } from '../kit/texts.js';
import { rememberWay } from './last-way.js';
import { page } from './page-data.js';
import { showPart, showStep } from './parts.js';

/** Milliseconds. The service forgets a code after this time. */
const codeLifetimeMs = 600_000;

/** The request for a code, kept in the history state, so that users who leave to read the email can continue after a reload. */
interface CodeRequest {
  email: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/**
 * Lets users sign in with a code from an email. The service does not reveal whether the address belongs to a user, so the page
 * continues in the same way for every address.
 */
export function startEmailCode(settled: Promise<void>): void {
  const address = find<HTMLInputElement>('#email');
  const part = find('[data-part=email-code]');
  const resend = find<HTMLButtonElement>('[data-send-code]', part);
  const code = find<HTMLInputElement>('[name=email_code]', part);
  const otp = find<HTMLInputElement>('[name=otp]', part);
  let email = '';
  let stopPause = () => {};

  const send = async (to: string) => {
    await settled;
    // For the link in the email, which may be opened in another browser.
    await callWithCookie('POST', '/auth/email/request', { email: to, ...targetOfLink() });
    remember({ email: to, at: Date.now() });
    stopPause();
    stopPause = startPause(resend);
  };

  const askForCode = (to: string) => {
    email = to;
    showPart('email-code', text('status_email_code_sent', { email }));
    showStep(part, 'code');
    code.value = '';
    code.focus();
  };

  const form = handleForm(
    '#email-code',
    'email_code',
    async (values) => {
      const oneTimeCode = codeOf(values);
      try {
        await callWithCookie('POST', '/auth/email', {
          email,
          code: withoutSpaces(code.value),
          mode: 'session',
          ...(oneTimeCode ? { otp: oneTimeCode } : {}),
        });
      } catch (failure) {
        const { code: reason } = failure instanceof ApiFailure ? failure : { code: '' };
        if (reason === 'INVALID_CREDENTIALS') showStep(part, 'code');
        if (reason !== 'INVALID_OTP' || oneTimeCode) throw failure;
        showStep(part, 'otp');
        otp.value = '';
        otp.focus();
        return;
      }
      remember(undefined);
      rememberWay('email');
      await leaveTo(page.redirect);
    },
    { INVALID_CREDENTIALS: 'email_code' },
  );

  onPress(resend, async () => {
    try {
      await send(email);
    } catch (failure) {
      form.showFailure(failure);
      return;
    }
    form.clear();
    form.showStatus(text('status_email_code_again'));
    code.focus();
  });

  find('[data-leave]', part).addEventListener('click', () => {
    remember(undefined);
    form.clear();
    showPart('form');
    address.focus();
  });

  const request = async () => {
    await send(address.value);
    askForCode(address.value);
  };
  if (page.offers.passwordLogin) requestWithButton(address, request);
  else handleForm('#email-only', 'email_code', request);

  const before = remembered();
  if (before) {
    stopPause = startPause(resend, resendPause - Math.floor((Date.now() - before.at) / 1000));
    askForCode(before.email);
  }
}

/** Where the link in the email leads. A path has no query, because the service accepts none. */
function targetOfLink() {
  if (page.returnTo !== undefined) return { return_to: page.returnTo };
  const [path] = page.redirect.split(/[?#]/, 1);
  return path === `${page.base}/account` ? {} : { redirect: path };
}

/** Next to the password field, a button requests the code. It requires only the address. */
function requestWithButton(address: HTMLInputElement, request: () => Promise<void>): void {
  const alert = find('[data-part=form] [data-alert]');
  onPress(find('[data-email-code]'), async () => {
    if (!isFilledIn(address)) return address.focus();
    alert.textContent = '';
    try {
      await request();
    } catch (failure) {
      alert.textContent = failureText('email_code', failure);
    }
  });
}

function remember(request: CodeRequest | undefined): void {
  history.replaceState({ ...history.state, emailCode: request }, '');
}

function remembered(): CodeRequest | undefined {
  const request = (history.state as { emailCode?: CodeRequest } | null)?.emailCode;
  return request && Date.now() - request.at < codeLifetimeMs ? request : undefined;
}
