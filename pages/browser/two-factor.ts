import { callInSession, callSignedIn } from './api.js';
import { ApiFailure } from './api-failure.js';
import { find } from './dom.js';
import { type FormControl, handleForm } from './form.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { drawQrCode } from './qr-code.js';
import { text } from './texts.js';

type Step = 'begin' | 'enable' | 'disable';

/** As the API answers it: not wrapped in `data`. */
interface NewSecret {
  secret: string;
  otpauth_url: string;
}

/** Lets the user turn two-factor authentication on and off. @returns whether they may */
export function showTwoFactor({ me, mustSetUpTfa, mayUpdate }: OwnAccount): boolean {
  if (!page.offers.twoFactor || !(mustSetUpTfa || mayUpdate('tfa_secret'))) return false;
  const hasPassword = me.provider === undefined || me.provider === 'default';
  find('[data-own-password]').hidden = !hasPassword;
  let secret = '';

  handleForm('#tfa-begin', 'tfa_begin', async ({ password }, { element }) => {
    const made = await generate(password);
    secret = made.secret;
    element.reset();
    find('.qr-code').replaceChildren(drawQrCode(made.otpauth_url));
    find('[data-secret]').textContent = secret;
    showStep('enable');
    find<HTMLInputElement>('#tfa-code').focus();
  });
  const enabling = handleForm('#tfa-enable', 'tfa', async (values, form) => {
    await callSignedIn('POST', '/users/me/tfa/enable', { secret, otp: codeOf(values) });
    forgetSecret(form);
    if (mustSetUpTfa) location.reload();
    showStep('disable');
    form.showStatus(text('status_tfa_on'));
  });
  handleForm('#tfa-disable', 'tfa', async (values, form) => {
    await callSignedIn('POST', '/users/me/tfa/disable', { otp: codeOf(values) });
    form.element.reset();
    showStep('begin');
    form.showStatus(text('status_tfa_off'));
  });

  const forgetSecret = ({ element, showStatus }: FormControl) => {
    secret = '';
    element.reset();
    find('.qr-code').replaceChildren();
    find('[data-secret]').textContent = '';
    find('[data-copied]').textContent = '';
    showStatus('');
  };
  find('[data-cancel]').addEventListener('click', () => {
    forgetSecret(enabling);
    showStep('begin');
    find('#tfa-begin button[type=submit]').focus();
  });
  enableCopying();
  showStep(me.tfa_secret ? 'disable' : 'begin');
  find('[data-section=tfa]').hidden = false;
  return true;
}

/** Asks for a new secret. That the password is wrong, and that the session is over, has the same code. */
async function generate(password: string | undefined): Promise<NewSecret> {
  try {
    return await callInSession<NewSecret>('POST', '/users/me/tfa/generate', password === undefined ? {} : { password });
  } catch (failure) {
    if (failure instanceof ApiFailure && failure.isSignedOut) await callSignedIn('GET', '/users/me?fields=id');
    throw failure;
  }
}

/** Authenticator apps show the code in groups. */
const codeOf = ({ otp = '' }: Record<string, string>) => otp.replace(/\s/g, '');

function showStep(step: Step): void {
  for (const name of ['begin', 'enable', 'disable'] satisfies Step[]) find(`#tfa-${name}`).hidden = name !== step;
}

function enableCopying(): void {
  const button = find('[data-copy]');
  // Browsers have a clipboard for scripts only where the connection is safe.
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(find('[data-secret]').textContent ?? '');
    find('[data-copied]').textContent = text('status_copied');
  });
}
