import { callAnonymously } from './api.js';
import { find, withQuery } from './dom.js';
import { page } from './page-data.js';
import { text } from './texts.js';

interface Provider {
  name: string;
  label?: string;
}

/** A button for each provider. All of them come back to this page, which goes on from there or says what went wrong. */
export async function showProviders(): Promise<void> {
  const { data } = await callAnonymously<{ data: Provider[] }>('GET', '/auth?sessionOnly').catch(() => ({ data: [] }));
  if (data.length === 0) return;
  const back = withQuery(page.links.login, { redirect: page.redirect });
  const items = data.map(({ name, label }) => {
    const link = document.createElement('a');
    link.className = 'button secondary';
    link.href = withQuery(`${page.base}/auth/login/${encodeURIComponent(name)}`, { redirect: back });
    link.textContent = text('action_provider', { provider: label ?? name });
    const item = document.createElement('li');
    item.append(link);
    return item;
  });
  find('.providers').append(...items);
  find('[data-providers]').hidden = false;
}
