import { codeOf } from './code-field.js';
import { find, withQuery } from './dom.js';
import { handleForm } from './form.js';
import { page } from './page-data.js';
import { rememberAttempt } from './provider-attempt.js';
import type { Provider } from './providers.js';
import { text } from './texts.js';

export type Proof = { password: string } | { otp: string };

/** The ways in which the user can prove their identity. */
export interface Ways {
  password: boolean;
  otp: boolean;
  providers: readonly Provider[];
}

/**
 * The dialog that asks users to prove their identity.
 * @param prove sends the entered proof to the API
 * @returns a function that opens the dialog and resolves to whether the session is fresh; choosing a provider leaves the page
 */
export function createProofDialog(prove: (proof: Proof) => Promise<unknown>): (ways: Ways) => Promise<boolean> {
  const dialog = find<HTMLDialogElement>('[data-proof-dialog]');
  const submit = find('[type=submit]', dialog);
  const form = handleForm('#proof', 'proof', async ({ password = '', ...values }) => {
    await prove(values.otp === undefined ? { password } : { otp: codeOf(values) });
    dialog.close('proved');
  });
  find('[data-proof-cancel]', dialog).addEventListener('click', () => dialog.close());

  const show = ({ password, otp, providers }: Ways) => {
    find('[data-proof=password]', dialog).hidden = !password;
    find('[data-proof=otp]', dialog).hidden = !otp;
    submit.hidden = !password && !otp;
    find('[data-proof-or]', dialog).hidden = submit.hidden;
    find('[data-proof-providers]', dialog).hidden = providers.length === 0;
    find('.providers', dialog).replaceChildren(...providers.map(providerLink));
  };

  return (ways) =>
    new Promise((resolve) => {
      show(ways);
      dialog.returnValue = '';
      dialog.addEventListener(
        'close',
        () => {
          form.clear();
          resolve(dialog.returnValue === 'proved');
        },
        { once: true },
      );
      dialog.showModal();
    });
}

/** Signing in through the provider again starts a fresh session. The page cannot repeat the action after that. */
function providerLink({ name, label }: Provider): HTMLElement {
  const link = document.createElement('a');
  link.className = 'button secondary';
  const redirect = withQuery(page.links.account, { notice: 'proved' });
  link.href = withQuery(`${page.base}/auth/login/${encodeURIComponent(name)}`, { redirect });
  link.textContent = text('action_provider', { provider: label ?? name });
  link.addEventListener('click', () => rememberAttempt(name, 'proof'));
  const item = document.createElement('li');
  item.append(link);
  return item;
}
