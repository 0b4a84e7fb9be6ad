import { ApiFailure } from '../kit/api-failure.js';
import { onPress, whileBusy } from '../kit/busy.js';
import { ask, dialogNamed, openDialog } from '../kit/dialogs.js';
import { find, itemOf } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { focusHeading } from '../kit/heading.js';
import { canUsePasskeys, createPasskey, usePasskey } from '../kit/passkey.js';
import { callSignedIn, callWithProof } from '../kit/signed-in-api.js';
import { dateText, failureText, historyText, text } from '../kit/texts.js';
import { pageAlert, toast } from '../kit/toast.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { endPasskeySuggestion, suggestPasskey } from './passkey-suggestion.js';

interface Passkey {
  id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
}

const readPasskeys = async () => (await callSignedIn<{ data: Passkey[] }>('GET', '/users/me/passkeys')).data;

/** Lets the user add, rename, and remove passkeys. */
export async function startPasskeys(account: OwnAccount): Promise<void> {
  if (!page.offers.passkeys) return;
  const list = find('[data-passkeys]');
  const add = find<HTMLButtonElement>('[data-passkey-add]');
  const dialog = dialogNamed('passkey');
  const name = find<HTMLInputElement>('#passkey-name');
  /** The passkey that the dialog renames. */
  let renamed: Passkey | undefined;

  const draw = async () => {
    const passkeys = await readPasskeys();
    list.replaceChildren(...passkeys.map(itemFor));
    find('[data-no-passkeys]').hidden = passkeys.length > 0;
  };
  const itemFor = (passkey: Passkey, index: number) => {
    const item = itemOf('[data-passkey-item]');
    const heading = find('[data-name]', item);
    heading.id = `passkey-${index}-name`;
    heading.textContent = passkey.name;
    const created = text('status_passkey_created', { date: dateText(passkey.created_at) });
    find('[data-when]', item).textContent = historyText(created, passkey.last_used_at);
    const rename = find<HTMLButtonElement>('[data-rename]', item);
    const remove = find<HTMLButtonElement>('[data-remove]', item);
    for (const [button, action] of [
      [rename, 'rename'],
      [remove, 'remove'],
    ] as const) {
      button.id = `passkey-${index}-${action}`;
      button.setAttribute('aria-labelledby', `${button.id} ${heading.id}`);
    }
    rename.addEventListener('click', () => {
      renamed = passkey;
      name.value = passkey.name;
      openDialog('passkey');
      name.select();
    });
    remove.addEventListener('click', () =>
      ask({
        title: text('choice_passkey_remove_title', { name: passkey.name }),
        text: text('choice_passkey_remove'),
        action: text('choice_passkey_remove_submit'),
        scope: 'passkey',
        act: () => removePasskey(passkey),
      }),
    );
    return item;
  };
  const removePasskey = async ({ id }: Passkey) => {
    await callSignedIn('DELETE', `/users/me/passkeys/${id}`);
    await draw();
    toast(text('status_passkey_removed'));
  };

  handleForm('#passkey-form', 'passkey', async ({ name: entered }) => {
    await callSignedIn('PATCH', `/users/me/passkeys/${renamed?.id}`, { name: entered });
    await draw();
    dialog.close();
    toast(text('status_passkey_renamed'));
  });

  /** @param button pressed by the user */
  const addPasskey = (button: HTMLButtonElement) => whileBusy(button, () => createAndSave(button));
  const createAndSave = async (button: HTMLButtonElement) => {
    pageAlert('');
    try {
      const { data: options } = await callSignedIn<{ data: Parameters<typeof createPasskey>[0] }>(
        'POST',
        '/users/me/passkeys/options',
      );
      const credential = await createPasskey(options);
      await callSignedIn('POST', '/users/me/passkeys', { credential });
      await draw();
      endPasskeySuggestion(account.me.id);
      // The session has now proved a second factor. The rest of the account is available, and has to be loaded.
      if (account.mustSetUpTfa) location.reload();
      else toast(text('status_passkey_added'));
    } catch (failure) {
      pageAlert(failureText('passkey', failure));
    } finally {
      // The dialog of the browser, or a button that has disappeared, had the focus.
      if (document.activeElement === document.body) button.focus();
      if (document.activeElement === document.body) focusHeading();
    }
  };
  add.addEventListener('click', () => addPasskey(add));
  enableConfirmation();

  const card = find('[data-card=passkeys]');
  try {
    await draw();
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'FORBIDDEN') throw failure;
    // This user is not allowed to manage their own account.
    card.hidden = true;
    return;
  }
  add.hidden = !canUsePasskeys() || account.managedBy !== undefined;
  card.hidden = add.hidden && list.childElementCount === 0;
  const isOffered = !account.mustSetUpTfa && account.managedBy === undefined;
  if (list.childElementCount === 0 && isOffered) await suggestPasskey(account.me.id, addPasskey);
}

/** The button with which users whose second factor is a passkey confirm their identity, before they can do anything else. */
function enableConfirmation(): void {
  const button = find<HTMLButtonElement>('[data-confirm-passkey]');
  button.hidden = !canUsePasskeys();
  onPress(button, async () => {
    pageAlert('');
    try {
      await callWithProof('/auth/reauthenticate', { credential: await usePasskey() });
      location.reload();
    } catch (failure) {
      pageAlert(failureText('passkey', failure));
    }
  });
}
