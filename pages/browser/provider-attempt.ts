import { leaveTo } from './dom.js';
import { page } from './page-data.js';

/** What somebody went to a provider for, kept in the tab until they are back. */
interface Attempt {
  provider: string;
  purpose: Purpose;
  /** The query of the page: the service drops it when it leads back to say why a login failed. */
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

/** The provider that somebody is back from; undefined when they went there from elsewhere. */
export const attemptedProvider = (): string | undefined => stored()?.provider;

/** Whether somebody is back from the provider that was to prove their identity. */
export const isBackWithProof = (): boolean => stored()?.purpose === 'proof';

export function forgetAttempt(): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // There is no storage, and nothing in it.
  }
}

/** Who is back with a reason goes on with the page as they left it: in its language, and with where they wanted to go. */
export async function restoreQuery(): Promise<void> {
  const attempt = stored();
  if (page.reason === undefined || !attempt?.query) return;
  // Once only.
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
