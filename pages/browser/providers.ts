import { callAnonymously } from './api.js';
import { find, withQuery } from './dom.js';
import { page } from './page-data.js';
import { rememberAttempt } from './provider-attempt.js';
import { text } from './texts.js';

export interface Provider {
  name: string;
  label?: string;
}

/** The providers that users can log in with: all of them, or only those whose sessions use mode `session`. */
export async function listProviders(which: '' | '?sessionOnly'): Promise<Provider[]> {
  const { data } = await callAnonymously<{ data: Provider[] }>('GET', `/auth${which}`);
  return data;
}

/** Shows a button for each provider. The login returns to this page, which redirects the user or displays the error. */
export async function showProviders(): Promise<void> {
  const providers = await listProviders('?sessionOnly').catch(() => []);
  if (providers.length === 0) return;
  const redirect = withQuery(page.links.login, { redirect: page.redirect });
  const items = providers.map(({ name, label }) => {
    const link = document.createElement('a');
    link.className = 'button secondary';
    link.href = withQuery(`${page.base}/auth/login/${encodeURIComponent(name)}`, { redirect });
    link.textContent = text('action_provider', { provider: label ?? name });
    link.addEventListener('click', () => rememberAttempt(name, 'login'));
    const item = document.createElement('li');
    item.append(link);
    return item;
  });
  find('.providers').append(...items);
  find('[data-providers]').hidden = false;
}
