import { codeOf } from '../kit/code-field.js';
import { dialogNamed, openDialog } from '../kit/dialogs.js';
import { find } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { callSignedIn, callWithProof } from '../kit/signed-in-api.js';
import { text } from '../kit/texts.js';
import { toast } from '../kit/toast.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { drawQrCode } from './qr-code.js';
import { createCodeList } from './recovery-codes.js';

/** The response of the API, which is not wrapped in `data`. */
interface NewSecret {
  secret: string;
  otpauth_url: string;
}

/** Lets the user turn two-factor authentication on and off, and create recovery codes. */
export function startTwoFactor(account: OwnAccount): void {
  if (!page.offers.twoFactor) return;
  // A password that cannot sign the user in does not confirm their identity either.
  const hasPassword = account.me.has_password && page.offers.passwordLogin;
  for (const place of document.querySelectorAll<HTMLElement>('[data-own-password]')) place.hidden = !hasPassword;
  find('[data-own-code]').hidden = hasPassword;
  const setup = dialogNamed('tfa-setup');
  const off = dialogNamed('tfa-off');
  const renewal = dialogNamed('tfa-renew');
  let secret = '';
  /** The password from the first step, so that the user does not have to enter it again for the recovery codes. */
  let typedPassword: string | undefined;

  const showStep = (step: 'begin' | 'enable') => {
    beginning.element.hidden = step !== 'begin';
    enabling.element.hidden = step !== 'enable';
  };
  const beginning = handleForm(
    '#tfa-begin',
    'tfa_begin',
    async ({ password }) => {
      const made = await callWithProof<NewSecret>('/users/me/tfa/generate', password === undefined ? {} : { password });
      secret = made.secret;
      typedPassword = password;
      find('.qr-code').replaceChildren(drawQrCode(made.otpauth_url));
      find<HTMLAnchorElement>('[data-open-app]').href = made.otpauth_url;
      find('[data-secret]').replaceChildren(...groupsOf(secret));
      showStep('enable');
      find<HTMLInputElement>('#tfa-code').focus();
    },
    { INVALID_CREDENTIALS: 'password' },
  );
  const enabling = handleForm(
    '#tfa-enable',
    'tfa',
    async (values) => {
      await callSignedIn('POST', '/users/me/tfa/enable', { secret, otp: codeOf(values) });
      const password = typedPassword;
      setup.close();
      await account.refresh();
      // Without a password, recovery codes require the next code from the app, so the user must request them.
      if (password === undefined) {
        toast(text('status_tfa_on'));
        return afterSetup();
      }
      try {
        await showNewCodes({ password }, text('status_tfa_on'));
      } catch (failure) {
        openDialog('tfa-renew');
        renewing.showFailure(failure);
      }
    },
    { INVALID_PAYLOAD: 'otp' },
  );
  handleForm(
    '#tfa-disable',
    'tfa',
    async (values) => {
      await callSignedIn('POST', '/users/me/tfa/disable', { otp: codeOf(values) });
      await account.refresh();
      off.close();
      toast(text('status_tfa_off'));
      find('#tfa-set-up').focus();
    },
    { INVALID_PAYLOAD: 'otp' },
  );
  const renewing = handleForm(
    '#tfa-recovery',
    'tfa_recovery',
    async ({ password, ...values }) => {
      await showNewCodes(password === undefined ? { otp: codeOf(values) } : { password });
    },
    { INVALID_CREDENTIALS: 'password' },
  );

  /** The rest of the account is available after the setup, and has to be loaded. */
  const afterSetup = () => {
    if (account.mustSetUpTfa) location.reload();
  };
  const listCodes = createCodeList(() => {
    void account.refresh();
    afterSetup();
    find('#recovery-renew').focus();
  });
  const showNewCodes = async (proof: object, news = '') => {
    const { data } = await callWithProof<{ data: string[] }>('/users/me/tfa/recovery-codes', proof);
    renewal.close();
    listCodes(data, news);
  };

  setup.addEventListener('close', () => {
    secret = '';
    typedPassword = undefined;
    find('.qr-code').replaceChildren();
    find('[data-open-app]').removeAttribute('href');
    for (const place of ['[data-secret]', '[data-copied]']) find(place).textContent = '';
    showStep('begin');
  });
  enableCopying();
}

/** Groups of four characters are easier to type. The space between them is not part of the text, so it is not copied. */
const groupsOf = (secret: string) =>
  (secret.match(/.{1,4}/g) ?? []).map((group) => Object.assign(document.createElement('span'), { textContent: group }));

function enableCopying(): void {
  const button = find('[data-copy]');
  // Browsers provide the clipboard only in secure contexts.
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(find('[data-secret]').textContent ?? '');
    find('[data-copied]').textContent = text('status_copied');
  });
}
