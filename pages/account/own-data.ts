import { onPress } from '../kit/busy.js';
import { ask } from '../kit/dialogs.js';
import { find, leaveTo, withQuery } from '../kit/dom.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { failureText, text } from '../kit/texts.js';
import { pageAlert } from '../kit/toast.js';
import { download } from './download.js';
import { page } from './page-data.js';

/** Lets users download their data and, if the project allows it, delete their account. */
export function startOwnData(): void {
  onPress(find('[data-export]'), async () => {
    pageAlert('');
    try {
      const { data } = await callSignedIn<{ data: object }>('GET', '/users/me/export');
      download('account-data.json', JSON.stringify(data, null, 2), 'application/json');
    } catch (failure) {
      pageAlert(failureText('data', failure));
    }
  });
  if (page.offers.selfDeletion) find('[data-delete]').addEventListener('click', askToDelete);
}

function askToDelete(): void {
  ask({
    title: text('choice_delete_title'),
    text: text('choice_delete'),
    action: text('choice_delete_submit'),
    scope: 'delete',
    act: async () => {
      await callSignedIn('DELETE', '/users/me');
      await leaveTo(withQuery(page.links.login, { notice: 'deleted' }));
    },
  });
}
