import { ApiFailure } from './api-failure.js';
import { onPress } from './busy.js';
import { codeOf, withoutSpaces } from './code-field.js';
import { dialogNamed, openDialog } from './dialogs.js';
import { find, itemOf, withQuery } from './dom.js';
import { handleForm } from './form.js';
import type { Provider } from './page-data.js';
import { page } from './page-data.js';
import { reportUnknownPasskey, usePasskey } from './passkey.js';
import { rememberAttempt } from './provider-attempt.js';
import { iconHref } from './providers.js';
import { startPause } from './resend-pause.js';
import { failureText, text } from './texts.js';

export type Proof = { password: string } | { otp: string } | { code: string } | { credential: object };

/** The ways in which the user can prove their identity. */
export interface ProofWays {
  password: boolean;
  otp: boolean;
  /** With a code from an email. */
  email: boolean;
  passkey: boolean;
  providers: readonly Provider[];
}

/**
 * The dialog that asks users to prove their identity.
 * @param prove sends the entered proof to the API
 * @param requestCode requests an email with a code
 * @returns a function that opens the dialog and resolves to whether the session is fresh; choosing a provider leaves the page
 */
export function createProofDialog(
  prove: (proof: Proof) => Promise<unknown>,
  requestCode: () => Promise<unknown>,
): (ways: ProofWays) => Promise<boolean> {
  const dialog = dialogNamed('proof');
  const submit = find('#proof .buttons', dialog);
  handleForm(
    '#proof',
    'proof',
    async ({ password = '', ...values }) => {
      await prove(values.otp === undefined ? { password } : { otp: codeOf(values) });
      dialog.close('proved');
    },
    { INVALID_CREDENTIALS: 'password' },
  );

  const emailForm = createEmailProof(dialog, prove, requestCode);
  if (page.offers.passkeys) enablePasskeyProof(dialog, prove);

  const show = ({ password, otp, email: hasEmail, passkey, providers }: ProofWays) => {
    emailForm.hidden = !hasEmail;
    find('[data-proof=password]', dialog).hidden = !password;
    find('[data-proof=otp]', dialog).hidden = !otp;
    submit.hidden = !password && !otp;
    const place = dialog.querySelector<HTMLElement>('[data-proof-passkey]');
    if (place) place.hidden = !passkey;
    find('[data-proof-providers]', dialog).hidden = providers.length === 0;
    find('.providers', dialog).replaceChildren(...providers.map(providerLink));
    // Show a divider only between a form and the buttons after it.
    const dividers = [...dialog.querySelectorAll<HTMLElement>('[data-proof-or]')];
    const first = dividers.find(({ parentElement }) => !parentElement?.hidden);
    for (const divider of dividers) divider.hidden = divider !== first || (submit.hidden && !hasEmail);
  };

  return (ways) =>
    new Promise((resolve) => {
      show(ways);
      dialog.addEventListener('close', () => resolve(dialog.returnValue === 'proved'), { once: true });
      openDialog('proof');
    });
}

/** The form for a code from an email, which users without a password can use. */
function createEmailProof(
  dialog: HTMLDialogElement,
  prove: (proof: Proof) => Promise<unknown>,
  requestCode: () => Promise<unknown>,
): HTMLFormElement {
  const form = handleForm(
    '#proof-email',
    'email_code',
    async ({ email_code: code = '' }) => {
      await prove({ code: withoutSpaces(code) });
      dialog.close('proved');
    },
    { INVALID_CREDENTIALS: 'email_code' },
  );
  const { element } = form;
  const sent = find('[data-sent]', element);
  const send = find<HTMLButtonElement>('[data-send-code]', element);
  const again = find<HTMLButtonElement>('[data-send-again]', element);
  const showCode = (isShown: boolean) => {
    for (const part of element.querySelectorAll<HTMLElement>('[data-email-code]')) part.hidden = !isShown;
    send.hidden = isShown;
  };
  let stopPause = () => {};

  for (const button of [send, again]) {
    onPress(button, async () => {
      try {
        await requestCode();
      } catch (failure) {
        form.showFailure(failure);
        return;
      }
      form.clear();
      sent.textContent = text('status_proof_email_sent');
      showCode(true);
      stopPause();
      stopPause = startPause(again);
      find<HTMLInputElement>('[name=email_code]', element).focus();
    });
  }

  dialog.addEventListener('close', () => {
    stopPause();
    sent.textContent = '';
    showCode(false);
  });
  return element;
}

/** A button that asks the browser for a passkey. */
function enablePasskeyProof(dialog: HTMLDialogElement, prove: (proof: Proof) => Promise<unknown>): void {
  const button = find<HTMLButtonElement>('[data-use-passkey]', dialog);
  const alert = find('[data-alert]', dialog);
  onPress(button, async () => {
    alert.textContent = '';
    try {
      const credential = await usePasskey();
      await prove({ credential }).catch(async (failure: unknown) => {
        throw await reportUnknownPasskey(credential.id, failure);
      });
      dialog.close('proved');
    } catch (failure) {
      alert.textContent = failureText('passkey', failure);
      // The authenticator has not verified the user, so the code is required.
      if (failure instanceof ApiFailure && failure.code === 'INVALID_OTP') find('#proof-code', dialog).focus();
    }
  });
}

/** Signing in through the provider again starts a fresh session. The page cannot repeat the action after that. */
function providerLink({ name, label }: Provider): HTMLElement {
  const redirect = withQuery(location.href, { notice: 'proved' });
  const item = itemOf('[data-provider-link]');
  const link = find<HTMLAnchorElement>('a', item);
  link.href = withQuery(`${page.base}/auth/login/${encodeURIComponent(name)}`, { redirect });
  link.addEventListener('click', () => rememberAttempt(name, 'proof'));
  find('use', item).setAttribute('href', iconHref(name));
  find('span', item).textContent = text('action_provider', { provider: label });
  return item;
}
