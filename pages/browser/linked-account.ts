import { confirmFirst } from './confirmation.js';
import { find } from './dom.js';
import { page } from './page-data.js';
import { text } from './texts.js';

export interface Identity {
  id: string;
  provider: string;
  external_identifier: string;
  email: string | null;
  primary: boolean;
  created_at: string;
  last_used_at: string | null;
}

let drawn = 0;

/**
 * A list item for a linked account, with a button that unlinks it after a confirmation.
 * @param unlink unlinks the account and redraws the list; returns `false` after displaying why it failed
 */
export function linkedAccount(
  identity: Identity,
  label: string,
  unlink: (identity: Identity) => Promise<boolean>,
): HTMLElement {
  const item = document.importNode(find<HTMLTemplateElement>('[data-linked-account]').content, true).firstElementChild;
  if (!(item instanceof HTMLElement)) throw new Error('The template of linked accounts is empty.');
  const name = find('[data-name]', item);
  const ask = find<HTMLButtonElement>('[data-ask]', item);
  const question = find('[data-question]', item);
  const confirm = find('[data-confirm]', item);

  const { email, external_identifier, created_at, last_used_at } = identity;
  const prefix = `linked-${++drawn}`;
  name.id = `${prefix}-name`;
  ask.id = `${prefix}-ask`;
  question.id = `${prefix}-question`;
  ask.setAttribute('aria-labelledby', `${ask.id} ${name.id}`);
  confirm.setAttribute('aria-labelledby', question.id);
  name.textContent = label;
  find('[data-who]', item).textContent = email ?? external_identifier;
  find('[data-when]', item).textContent = [
    text('status_linked_on', { date: dateText(created_at) }),
    last_used_at === null ? text('status_never_used') : text('status_used_on', { date: dateText(last_used_at) }),
  ].join(' · ');
  question.textContent = text('choice_unlink', { provider: label });

  confirmFirst(item, () => unlink(identity));
  return item;
}

const dateText = (date: string) =>
  new Intl.DateTimeFormat(page.language, { dateStyle: 'medium' }).format(new Date(date));
