import { ApiFailure } from '../kit/api-failure.js';
import { onPress } from '../kit/busy.js';
import { ask } from '../kit/dialogs.js';
import { find, itemOf, leaveTo, setText, withQuery } from '../kit/dom.js';
import { rememberAttempt } from '../kit/provider-attempt.js';
import { iconHref, labelOf } from '../kit/providers.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { dateText, failureText, historyText, text } from '../kit/texts.js';
import { pageAlert, toast } from '../kit/toast.js';
import { type Identity, readIdentities } from './identities.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';

/** Lets the user connect and disconnect accounts at providers. @returns whether there is anything to show */
export async function startConnections({ managedBy }: OwnAccount): Promise<boolean> {
  if (!page.offers.providers) return false;
  const panel = find('[data-panel=connections]');
  let identities: Identity[] = [];

  const disconnect = async (identity: Identity) => {
    await callSignedIn('DELETE', `/users/me/identities/${identity.id}`);
    // The user may now sign in with the password instead, so the page reloads the account.
    if (identity.primary) await leaveTo(withQuery(connectionsUrl(), { notice: 'unlinked' }));
    identities = await readIdentities().catch(() => identities.filter(({ id }) => id !== identity.id));
    draw();
    toast(text('status_unlinked'));
  };
  const draw = () => {
    const free = page.providers.filter(
      ({ name, session }) =>
        session && managedBy === undefined && !identities.some(({ provider }) => provider === name),
    );
    find('[data-connections]', panel).replaceChildren(
      ...identities.map((identity, index) =>
        connectedItem(identity, index, managedBy === undefined && (() => disconnect(identity))),
      ),
      ...free.map(({ name }) => connectableItem(name)),
    );
  };

  try {
    identities = await readIdentities();
    draw();
    return identities.length > 0 || page.providers.some(({ session }) => session);
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'FORBIDDEN') pageAlert(failureText('account', failure));
    return false;
  }
}

const connectionsUrl = () => find<HTMLAnchorElement>('[data-to=connections]').href;

/** Displays the outcome if the user has just connected or disconnected an account. */
export function showLinkOutcome(): void {
  const notice = new URLSearchParams(location.search).get('notice');
  if (page.reason !== undefined) pageAlert(failureText('link', new ApiFailure(page.reason)));
  else if (notice === 'linked' || notice === 'unlinked') toast(text(`status_${notice}`));
}

function connectionItem(provider: string, id: string, action: string): HTMLElement {
  const item = itemOf('[data-connection]');
  const name = find('[data-name]', item);
  const button = find<HTMLButtonElement>('[data-act]', item);
  find('use', item).setAttribute('href', iconHref(provider));
  name.id = `${id}-name`;
  name.textContent = labelOf(provider);
  button.id = `${id}-act`;
  button.textContent = action;
  button.setAttribute('aria-labelledby', `${button.id} ${name.id}`);
  return item;
}

/** @param disconnect false: the user cannot disconnect the account */
function connectedItem(identity: Identity, index: number, disconnect: false | (() => Promise<void>)): HTMLElement {
  const { provider, email, external_identifier, created_at, last_used_at } = identity;
  const item = connectionItem(provider, `connected-${index}`, text('choice_unlink_submit'));
  setText(find('[data-who]', item), email ?? external_identifier);
  const linked = text('status_linked_on', { date: dateText(created_at) });
  find('[data-when]', item).textContent = historyText(linked, last_used_at);
  const button = find('[data-act]', item);
  if (!disconnect) button.remove();
  else
    button.addEventListener('click', () =>
      ask({
        title: text('choice_unlink_title', { provider: labelOf(provider) }),
        text: text('choice_unlink', { provider: labelOf(provider) }),
        action: text('choice_unlink_submit'),
        scope: 'link',
        act: disconnect,
      }),
    );
  return item;
}

function connectableItem(provider: string): HTMLElement {
  const item = connectionItem(provider, `connectable-${provider}`, text('choice_link_submit'));
  const button = find<HTMLButtonElement>('[data-act]', item);
  find('[data-who]', item).textContent = text('status_not_linked');
  onPress(button, async () => {
    try {
      const { data } = await callSignedIn<{ data: { url: string } }>(
        'POST',
        `/users/me/identities/${encodeURIComponent(provider)}`,
        { redirect: withQuery(connectionsUrl(), { notice: 'linked' }) },
      );
      rememberAttempt(provider, 'link');
      await leaveTo(data.url);
    } catch (failure) {
      pageAlert(failureText('link', failure));
    }
  });
  return item;
}
