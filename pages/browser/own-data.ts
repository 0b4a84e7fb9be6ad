import { confirmFirst } from './confirmation.js';
import { find, leaveTo, withQuery } from './dom.js';
import { download } from './download.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { callSignedIn } from './signed-in-api.js';
import { failureText } from './texts.js';

/** Lets users download their data and, if the project allows it, delete their account. */
export function showOwnData({ hasSelfService }: OwnAccount): void {
  if (!hasSelfService) return;
  showExport();
  if (page.offers.selfDeletion) showDeletion();
}

function showExport(): void {
  const section = find('[data-section=data]');
  const button = find<HTMLButtonElement>('[data-export]', section);
  const alert = find('[data-alert]', section);
  button.addEventListener('click', async () => {
    button.disabled = true;
    alert.textContent = '';
    try {
      const { data } = await callSignedIn<{ data: object }>('GET', '/users/me/export');
      download('account-data.json', JSON.stringify(data, null, 2), 'application/json');
    } catch (failure) {
      alert.textContent = failureText('data', failure);
    } finally {
      button.disabled = false;
    }
  });
  section.hidden = false;
}

function showDeletion(): void {
  const section = find('[data-section=delete]');
  const alert = find('[data-alert]', section);
  confirmFirst(section, async () => {
    alert.textContent = '';
    try {
      await callSignedIn('DELETE', '/users/me');
    } catch (failure) {
      alert.textContent = failureText('delete', failure);
      return false;
    }
    return leaveTo(withQuery(page.links.login, { notice: 'deleted' }));
  });
  section.hidden = false;
}
