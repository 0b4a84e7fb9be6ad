import { accessItems } from '../kit/access.js';
import { ApiFailure } from '../kit/api-failure.js';
import { ask } from '../kit/dialogs.js';
import { find, itemOf } from '../kit/dom.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { dateText, failureText, historyText, text } from '../kit/texts.js';
import { pageAlert, toast } from '../kit/toast.js';
import { page } from './page-data.js';

/** The access that the user has given to an application. */
interface Grant {
  id: string;
  client: { id: string; name: string; logo_uri: string | null };
  scopes: string[];
  resources: { name: string; scopes: string[] }[];
  created_at: string;
  last_used_at: string | null;
}

const listGrants = async () => (await callSignedIn<{ data: Grant[] }>('GET', '/users/me/grants')).data;

/** Lists the applications that have access to the account, and lets the user withdraw it. */
export async function startApplications(): Promise<void> {
  const panel = find('[data-panel=applications]');

  const draw = (grants: readonly Grant[]) => {
    const list = find('[data-applications]', panel);
    list.replaceChildren(...grants.map((grant, index) => applicationItem(grant, index, () => withdraw(grant))));
    list.hidden = grants.length === 0;
    find('[data-no-applications]', panel).hidden = grants.length > 0;
  };
  const withdraw = async ({ id, client }: Grant) => {
    const failure = await callSignedIn('DELETE', `/users/me/grants/${id}`).catch((thrown: unknown) => thrown);
    // FORBIDDEN means that the access had already ended, so the list is outdated.
    if (!(failure instanceof ApiFailure) || failure.code === 'FORBIDDEN') draw(await listGrants());
    if (failure) throw failure;
    toast(text('status_withdrawn', { client: client.name }));
  };

  try {
    draw(await listGrants());
  } catch (failure) {
    pageAlert(failureText('account', failure));
  }
}

function applicationItem(
  { client, scopes, resources, created_at, last_used_at }: Grant,
  index: number,
  withdraw: () => Promise<void>,
): HTMLElement {
  const item = itemOf('[data-application]');
  const name = find('[data-name]', item);
  const button = find<HTMLButtonElement>('[data-withdraw]', item);
  name.id = `application-${index}-name`;
  name.textContent = client.name;
  button.id = `application-${index}-withdraw`;
  button.setAttribute('aria-labelledby', `${button.id} ${name.id}`);
  find('[data-logo]', item).replaceChildren(logoOf(client));
  const host = hostOf(client.id);
  find('[data-host]', item).hidden = host === undefined;
  find('[data-host]', item).textContent = host ?? '';
  find('[data-access]', item).replaceChildren(...accessItems({ scopes, resources }));
  const allowed = text('status_application_allowed', { date: dateText(created_at) });
  find('[data-when]', item).textContent = historyText(allowed, last_used_at);
  button.addEventListener('click', () =>
    ask({
      title: text('choice_withdraw_title', { client: client.name }),
      text: text('choice_withdraw'),
      action: text('choice_withdraw_submit'),
      scope: 'applications',
      act: withdraw,
    }),
  );
  return item;
}

/** The host of an application that nobody registered, whose ID is a URL. Anyone can choose any name, but not this. */
const hostOf = (id: string): string | undefined => (id.startsWith('https://') ? new URL(id).host : undefined);

/** The logo of an application or, without one that can be loaded, the first letter of its name. */
function logoOf({ name, logo_uri: url }: Grant['client']): Node {
  const [first] = new Intl.Segmenter(page.language).segment(name.trim());
  const letter = document.createTextNode(first?.segment.toLocaleUpperCase(page.language) ?? '');
  if (url === null) return letter;
  const image = document.createElement('img');
  image.alt = '';
  image.addEventListener('error', () => image.replaceWith(letter));
  image.src = url;
  return image;
}
