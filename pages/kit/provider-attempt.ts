import { leaveTo } from './dom.js';
import { page } from './page-data.js';
import { ifAllowed } from './storage.js';

/** Why the user went to a provider. Stored in the tab until the user returns. */
interface Attempt {
  provider: string;
  purpose: Purpose;
  /** The query of the page. The service drops it when it redirects back after a failed login. */
  query: string;
}

type Purpose = 'login' | 'link' | 'proof';

const key = `${page.base}/auth/login`;
const saidOnce = ['reason', 'notice'];

export function rememberAttempt(provider: string, purpose: Purpose): void {
  const query = new URLSearchParams(location.search);
  for (const name of saidOnce) query.delete(name);
  store({ provider, purpose, query: String(query) });
}

/** Remembers the provider when the user follows one of the page's links to sign in there. */
export function rememberAttempts(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('[data-provider]')) {
    link.addEventListener('click', () => rememberAttempt(link.dataset.provider ?? '', 'login'));
  }
}

/** The provider that the user returned from; undefined if they did not start on these pages. */
export const attemptedProvider = (): string | undefined => stored()?.provider;

/** Whether the user returned from a provider to prove their identity. */
export const returnedForProof = (): boolean => stored()?.purpose === 'proof';

export function forgetAttempt(): void {
  ifAllowed(() => sessionStorage.removeItem(key));
}

/** After a failed login, restores the query of the page that the user left, with its language and redirect. */
export async function restoreQuery(): Promise<void> {
  const attempt = stored();
  if (page.reason === undefined || !attempt?.query) return;
  // Only once, so that the page does not redirect to itself forever.
  if (!store({ ...attempt, query: '' })) return;
  const query = new URLSearchParams(attempt.query);
  query.set('reason', page.reason);
  await leaveTo(`${location.pathname}?${query}`);
}

function stored(): Attempt | undefined {
  try {
    const { provider, purpose, query } = JSON.parse(sessionStorage.getItem(key) ?? '{}') as Partial<Attempt>;
    return provider === undefined ? undefined : { provider, purpose: purpose ?? 'login', query: query ?? '' };
  } catch {
    return undefined;
  }
}

function store(attempt: Attempt): boolean {
  try {
    sessionStorage.setItem(key, JSON.stringify(attempt));
    return true;
  } catch {
    return false;
  }
}
