import { callAnonymously } from './api.js';
import { find, withQuery } from './dom.js';
import { page } from './page-data.js';
import { rememberAttempt } from './provider-attempt.js';
import { text } from './texts.js';

export interface Provider {
  name: string;
  label?: string;
}

/** The providers that one can log in with; of all of them, or of those only that begin a session of a browser. */
export async function listProviders(which: '' | '?sessionOnly'): Promise<Provider[]> {
  const { data } = await callAnonymously<{ data: Provider[] }>('GET', `/auth${which}`);
  return data;
}

/** A button for each provider. All of them come back to this page, which goes on from there or says what went wrong. */
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
