import { codeOf } from './code-field.js';
import { find } from './dom.js';
import { type FormControl, handleForm } from './form.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { drawQrCode } from './qr-code.js';
import { createCodeList } from './recovery-codes.js';
import { callSignedIn, callWithProof } from './signed-in-api.js';
import { text } from './texts.js';

const parts = ['begin', 'enable', 'codes', 'disable', 'recovery'] as const;
type Part = (typeof parts)[number];

/** The response of the API, which is not wrapped in `data`. */
interface NewSecret {
  secret: string;
  otpauth_url: string;
}

/** Lets the user turn two-factor authentication on and off. */
export function showTwoFactor({ me, mustSetUpTfa }: OwnAccount): void {
  if (!page.offers.twoFactor) return;
  const hasPassword = me.has_password;
  for (const place of document.querySelectorAll<HTMLElement>('[data-own-password]')) place.hidden = !hasPassword;
  find('[data-own-code]').hidden = hasPassword;
  let secret = '';
  /** The password from the first step, so that the user does not have to enter it again for the recovery codes. */
  let typedPassword: string | undefined;

  handleForm('#tfa-begin', 'tfa_begin', async ({ password }, { element }) => {
    const made = await callWithProof<NewSecret>('/users/me/tfa/generate', password === undefined ? {} : { password });
    secret = made.secret;
    typedPassword = password;
    element.reset();
    find('.qr-code').replaceChildren(drawQrCode(made.otpauth_url));
    find('[data-secret]').textContent = secret;
    show('enable');
    find<HTMLInputElement>('#tfa-code').focus();
  });
  const enabling = handleForm('#tfa-enable', 'tfa', async (values, form) => {
    await callSignedIn('POST', '/users/me/tfa/enable', { secret, otp: codeOf(values) });
    const password = typedPassword;
    forgetSecret(form);
    // Without a password, recovery codes require the next code from the app, so the user must request them.
    if (password === undefined) return isSetUp(form);
    try {
      await showNewCodes({ password });
      form.showStatus(text('status_tfa_on'));
    } catch (failure) {
      showOn();
      renewing.showFailure(failure);
    }
  });
  handleForm('#tfa-disable', 'tfa', async (values, form) => {
    await callSignedIn('POST', '/users/me/tfa/disable', { otp: codeOf(values) });
    form.element.reset();
    show('begin');
    form.showStatus(text('status_tfa_off'));
  });
  const renewing = handleForm('#tfa-recovery', 'tfa_recovery', async ({ password, ...values }, form) => {
    await showNewCodes(password === undefined ? { otp: codeOf(values) } : { password });
    form.element.reset();
  });

  const showOn = () => show('disable', 'recovery');
  const isSetUp = ({ showStatus }: FormControl) => {
    // The rest of the account is now available and has to be loaded.
    if (mustSetUpTfa) location.reload();
    showOn();
    showStatus(text('status_tfa_on'));
  };
  const listCodes = createCodeList(() => {
    if (mustSetUpTfa) location.reload();
    enabling.showStatus('');
    showOn();
    find('#tfa-recovery button[type=submit]').focus();
  });
  const showNewCodes = async (proof: object) => {
    const { data } = await callWithProof<{ data: string[] }>('/users/me/tfa/recovery-codes', proof);
    listCodes(data);
    show('codes');
    find('#tfa-codes h3').focus();
  };
  const forgetSecret = ({ element, showStatus }: FormControl) => {
    secret = '';
    typedPassword = undefined;
    element.reset();
    find('.qr-code').replaceChildren();
    find('[data-secret]').textContent = '';
    find('[data-copied]').textContent = '';
    showStatus('');
  };
  find('[data-cancel]').addEventListener('click', () => {
    forgetSecret(enabling);
    show('begin');
    find('#tfa-begin button[type=submit]').focus();
  });
  enableCopying();
  if (me.tfa_enabled) showOn();
  else show('begin');
  find('[data-section=tfa]').hidden = false;
}

function show(...shown: Part[]): void {
  for (const part of parts) find(`#tfa-${part}`).hidden = !shown.includes(part);
}

function enableCopying(): void {
  const button = find('[data-copy]');
  // Browsers provide the clipboard only in secure contexts.
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(find('[data-secret]').textContent ?? '');
    find('[data-copied]').textContent = text('status_copied');
  });
}
