import { dialogNamed, openDialog } from '../kit/dialogs.js';
import { find, withQuery } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { text } from '../kit/texts.js';
import { toast } from '../kit/toast.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';

type Field = 'first_name' | 'last_name' | 'language';

/** Lets the user change their names and language. */
export function startProfile(account: OwnAccount): void {
  enableEditing(account, 'profile', ['first_name', 'last_name']);
  enableEditing(account, 'language', ['language']);
}

/** Asks users who have just accepted an invitation for their name. They can close the dialog, and add it later. */
export function askForName({ me, mustSetUpTfa, hasSelfService }: OwnAccount): void {
  if (me.first_name || me.last_name || mustSetUpTfa || !hasSelfService) return;
  const dialog = dialogNamed('profile');
  const heading = find('h2', dialog);
  const welcome = find('[data-welcome]', dialog);
  const leave = find('.buttons [data-close]', dialog);
  const { textContent: title } = heading;
  const { textContent: cancel } = leave;
  welcome.hidden = false;
  heading.textContent = text('status_welcome_title');
  leave.textContent = text('action_not_now');
  dialog.addEventListener(
    'close',
    () => {
      welcome.hidden = true;
      heading.textContent = title;
      leave.textContent = cancel;
    },
    { once: true },
  );
  openDialog('profile');
}

/** @param name of the dialog and its form */
function enableEditing(account: OwnAccount, name: string, fields: readonly Field[]): void {
  const dialog = dialogNamed(name);
  const stored = (field: Field) => account.me[field] ?? '';
  const fill = () => {
    for (const field of fields) {
      const input = find<HTMLInputElement | HTMLSelectElement>(`[name=${field}]`, dialog);
      const isMissing =
        input instanceof HTMLSelectElement && ![...input.options].some(({ value }) => value === stored(field));
      // Keep a language in which these pages are not available.
      if (isMissing) input.add(new Option(stored(field), stored(field)));
      input.value = stored(field);
    }
  };
  handleForm(`#${name}`, 'profile', async (values) => {
    const changed = fields.filter((field) => values[field] !== stored(field));
    const changes = Object.fromEntries(changed.map((field) => [field, values[field] || null]));
    if (changed.length > 0) {
      await callSignedIn('PATCH', '/users/me/profile', changes);
      await account.refresh();
    }
    const { language } = account.me;
    if (changed.includes('language') && language && language !== page.language) {
      location.assign(withQuery(location.href, { lang: language }));
      return;
    }
    dialog.close();
    toast(text('status_saved'));
  });
  dialog.addEventListener('close', fill);
  fill();
}
