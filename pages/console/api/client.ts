import type { Method } from '../../kit/api.js';
import { ApiFailure } from '../../kit/api-failure.js';
import { callWhileSignedIn } from '../../kit/signed-in-api.js';
import { waitForSession } from './session.js';
import type { BodyOf, PathWith, ResultOf } from './types.js';

/** The query of a request, as in the query language. Objects are sent as JSON, and lists separated by commas. */
export type Query = Readonly<Record<string, unknown>>;

interface Target {
  /** The values of the parameters in the path. */
  params?: Readonly<Record<string, string>>;
  query?: Query;
}

/** The URL of a request, below the path of the service. */
export function urlOf(path: string, { params = {}, query = {} }: Target = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    if (Array.isArray(value)) search.set(name, value.join(','));
    else search.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  return search.size > 0 ? `${filled}?${search}` : filled;
}

/**
 * Returns the failure if it means that the session has ended. If the browser has no cookie any longer, such as after a sign-out in another
 * tab, the caller is anonymous, and may do less.
 */
async function sessionEnd(failure: unknown): Promise<ApiFailure | undefined> {
  if (!(failure instanceof ApiFailure)) return undefined;
  if (failure.isSignedOut) return failure;
  if (failure.code !== 'FORBIDDEN') return undefined;
  const check = callWhileSignedIn('GET', '/users/me?fields=id');
  return check.then(
    () => undefined,
    (found) => (found instanceof ApiFailure && found.isSignedOut ? found : undefined),
  );
}

/**
 * Sends a request as the signed-in user. If the API requires a fresh session, or the session has ended, the console asks the user to prove
 * their identity or to sign in again, in place, and repeats the request. What the user has entered is not lost.
 * @throws {ApiFailure}
 */
async function send<T>(method: Method, url: string, body?: object): Promise<T> {
  for (;;) {
    try {
      return await callWhileSignedIn<T>(method, url, body);
    } catch (failure) {
      const ended = await sessionEnd(failure);
      if (!ended) throw failure;
      await waitForSession(ended);
    }
  }
}

export const get = <P extends PathWith<'get'>>(path: P, target?: Target): Promise<ResultOf<P, 'get'>> =>
  send('GET', urlOf(path, target));

export const post = <P extends PathWith<'post'>>(
  path: P,
  body?: BodyOf<P, 'post'>,
  target?: Target,
): Promise<ResultOf<P, 'post'>> => send('POST', urlOf(path, target), body as object | undefined);

export const patch = <P extends PathWith<'patch'>>(
  path: P,
  body: BodyOf<P, 'patch'>,
  target?: Target,
): Promise<ResultOf<P, 'patch'>> => send('PATCH', urlOf(path, target), body as object);

export const remove = <P extends PathWith<'delete'>>(
  path: P,
  body?: BodyOf<P, 'delete'>,
  target?: Target,
): Promise<ResultOf<P, 'delete'>> => send('DELETE', urlOf(path, target), body as object | undefined);

/** Reads a URL that `urlOf` has made. The hooks in `use-api.ts` use it. */
export const read = <T>(url: string): Promise<T> => send<T>('GET', url);
