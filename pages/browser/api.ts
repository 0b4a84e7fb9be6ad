import { ApiFailure, failureOf } from './api-failure.js';
import { leaveTo, withQuery } from './dom.js';
import { page } from './page-data.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Milliseconds. */
const patience = 20_000;

/** @throws {ApiFailure} */
async function call<T>(credentials: RequestCredentials, method: Method, path: string, body?: object): Promise<T> {
  const response = await fetch(`${page.base}${path}`, {
    method,
    credentials,
    cache: 'no-store',
    signal: AbortSignal.timeout(patience),
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  }).catch(() => {
    throw new ApiFailure('NETWORK');
  });
  if (!response.ok) throw await failureOf(response);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Calls the API as nobody. The session cookie stays away: were it of no use any more, the call would be refused. */
export const callAnonymously = <T>(method: Method, path: string, body?: object): Promise<T> =>
  call('omit', method, path, body);

/** Calls the API with the session cookie, if there is one. */
export const callWithCookie = <T>(method: Method, path: string, body?: object): Promise<T> =>
  call('same-origin', method, path, body);

/** Calls the API as who is signed in, and refreshes a session that has expired, once. @throws {ApiFailure} */
export async function callInSession<T>(method: Method, path: string, body?: object): Promise<T> {
  try {
    return await callWithCookie<T>(method, path, body);
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'TOKEN_EXPIRED') throw failure;
    await callWithCookie('POST', '/auth/refresh', { mode: 'session' });
    return callWithCookie<T>(method, path, body);
  }
}

/** To the page for signing in, which comes back here. */
export const goToLogin = (): Promise<never> => leaveTo(withQuery(page.links.login, { redirect: page.links.account }));

/** Ends the session and takes its cookie away, also when it is of no use any more. @throws {ApiFailure} */
export async function endSession(): Promise<void> {
  await callWithCookie('POST', '/auth/logout', { mode: 'session' }).catch((failure: ApiFailure) => {
    // There was none.
    if (failure.code !== 'INVALID_PAYLOAD') throw failure;
  });
}
