import { find, withQuery } from './dom.js';
import { handleForm } from './form.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { callSignedIn } from './signed-in-api.js';
import { text } from './texts.js';

const fields = ['first_name', 'last_name', 'language'] as const;

/** Lets the user change their names and language. */
export function showProfile({ me, hasSelfService }: OwnAccount): void {
  if (!hasSelfService) return;
  const stored = Object.fromEntries(fields.map((name) => [name, me[name] ?? '']));
  const form = find<HTMLFormElement>('#profile');
  const languages = find<HTMLSelectElement>('[name=language]', form);
  const isKnown = [...languages.options].some(({ value }) => value === stored.language);
  // Keep a language in which these pages are not available.
  if (!isKnown && stored.language) languages.add(new Option(stored.language, stored.language));
  for (const name of fields) {
    const input = find<HTMLInputElement | HTMLSelectElement>(`[name=${name}]`, form);
    input.value = stored[name] ?? '';
  }

  handleForm('#profile', 'profile', async (values, { showStatus }) => {
    const changed = fields.filter((name) => values[name] !== stored[name]);
    const changes = Object.fromEntries(changed.map((name) => [name, values[name] || null]));
    if (changed.length > 0) await callSignedIn('PATCH', '/users/me/profile', changes);
    for (const name of changed) stored[name] = values[name] ?? '';
    if (changed.includes('language') && stored.language && stored.language !== page.language) {
      location.assign(withQuery(page.links.account, { lang: stored.language }));
      return;
    }
    showStatus(text('status_saved'));
  });
  find('[data-section=profile]').hidden = false;
}
