import { ApiFailure } from './api-failure.js';
import { find, leaveTo, withQuery } from './dom.js';
import { type Identity, linkedAccount } from './linked-account.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { rememberAttempt } from './provider-attempt.js';
import { listProviders, type Provider } from './providers.js';
import { callSignedIn } from './signed-in-api.js';
import { failureText, text } from './texts.js';

const readIdentities = async () => (await callSignedIn<{ data: Identity[] }>('GET', '/users/me/identities')).data;

/** Lets the user link and unlink provider accounts. @returns whether the section is visible */
export async function showLinkedAccounts({ mustSetUpTfa }: OwnAccount): Promise<boolean> {
  if (!page.offers.providers || mustSetUpTfa) return false;
  const section = find('[data-section=links]');
  const alert = find('[data-alert]', section);
  const status = find('[data-status]', section);
  let known: Provider[] = [];
  let linkable: Provider[] = [];
  let identities: Identity[] = [];

  const labelOf = (name: string) => known.find((provider) => provider.name === name)?.label ?? name;

  const unlink = async (identity: Identity) => {
    try {
      await callSignedIn('DELETE', `/users/me/identities/${identity.id}`);
    } catch (failure) {
      status.textContent = '';
      alert.textContent = failureText('link', failure);
      return false;
    }
    // The user may now sign in with the password instead, so the page reloads the account.
    if (identity.primary) return leaveTo(withQuery(page.links.account, { notice: 'unlinked' }));
    identities = await readIdentities().catch(() => identities.filter(({ id }) => id !== identity.id));
    draw();
    alert.textContent = '';
    status.textContent = text('status_unlinked');
    find('h2', section).focus();
    return true;
  };

  const draw = () => {
    const free = linkable.filter(({ name }) => !identities.some(({ provider }) => provider === name));
    find('[data-linked]', section).replaceChildren(
      ...identities.map((identity) => linkedAccount(identity, labelOf(identity.provider), unlink)),
    );
    find('[data-linkable]', section).replaceChildren(
      ...free.map(({ name }) =>
        linkButton(name, labelOf(name), (failure) => {
          alert.textContent = failureText('link', failure);
        }),
      ),
    );
    find('[data-linked]', section).hidden = identities.length === 0;
    find('[data-linkable]', section).hidden = free.length === 0;
  };

  try {
    [identities, known, linkable] = await Promise.all([
      readIdentities(),
      listProviders(''),
      listProviders('?sessionOnly'),
    ]);
    section.hidden = identities.length === 0 && linkable.length === 0;
    draw();
  } catch (failure) {
    section.hidden = failure instanceof ApiFailure && failure.code === 'FORBIDDEN';
    alert.textContent = failureText('account', failure);
  }
  return !section.hidden;
}

/** Displays the outcome of linking or unlinking an account just before. */
export function showLinkOutcome(): void {
  const section = find('[data-section=links]');
  const notice = new URLSearchParams(location.search).get('notice');
  if (page.reason !== undefined) {
    find('[data-alert]', section).textContent = failureText('link', new ApiFailure(page.reason));
  } else if (notice === 'linked' || notice === 'unlinked') {
    find('[data-status]', section).textContent = text(`status_${notice}`);
  } else return;
  find('h2', section).focus();
  // A reload must not display the outcome again.
  history.replaceState(null, '', page.links.account);
}

function linkButton(name: string, label: string, showFailure: (failure: unknown) => void): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'secondary';
  button.textContent = text('action_link', { provider: label });
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      const { data } = await callSignedIn<{ data: { url: string } }>(
        'POST',
        `/users/me/identities/${encodeURIComponent(name)}`,
        { redirect: withQuery(page.links.account, { notice: 'linked' }) },
      );
      rememberAttempt(name, 'link');
      location.assign(data.url);
    } catch (failure) {
      showFailure(failure);
    } finally {
      button.disabled = false;
    }
  });
  const item = document.createElement('li');
  item.append(button);
  return item;
}
