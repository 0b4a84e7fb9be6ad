import { ApiFailure, failureOf } from './api-failure.js';
import { leaveTo, withQuery } from './dom.js';
import { page } from './page-data.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Milliseconds. */
const requestTimeoutMs = 20_000;

/** @throws {ApiFailure} */
async function call<T>(credentials: RequestCredentials, method: Method, path: string, body?: object): Promise<T> {
  const response = await fetch(`${page.base}${path}`, {
    method,
    credentials,
    cache: 'no-store',
    signal: AbortSignal.timeout(requestTimeoutMs),
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  }).catch(() => {
    throw new ApiFailure('NETWORK');
  });
  if (!response.ok) throw await failureOf(response);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Calls the API anonymously, without the session cookie. @throws {ApiFailure} */
export const callAnonymously = <T>(method: Method, path: string, body?: object): Promise<T> =>
  call('omit', method, path, body);

/** Calls the API with the session cookie, if there is one. @throws {ApiFailure} */
export const callWithCookie = <T>(method: Method, path: string, body?: object): Promise<T> =>
  call('same-origin', method, path, body);

/** Calls the API as the signed-in user. If the access token has expired, refreshes it and retries once. @throws {ApiFailure} */
export async function callInSession<T>(method: Method, path: string, body?: object): Promise<T> {
  try {
    return await callWithCookie<T>(method, path, body);
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'TOKEN_EXPIRED') throw failure;
    await callWithCookie('POST', '/auth/refresh', { mode: 'session' });
    return callWithCookie<T>(method, path, body);
  }
}

/** Goes to the sign-in page, which redirects back to this page. */
export const goToLogin = (): Promise<never> =>
  leaveTo(withQuery(page.links.login, { redirect: location.pathname + location.search }));

/** Ends the session and clears its cookie, even if the session is no longer valid. @throws {ApiFailure} */
export async function endSession(): Promise<void> {
  await callWithCookie('POST', '/auth/logout', { mode: 'session' }).catch((failure: ApiFailure) => {
    // There was no session.
    if (failure.code !== 'INVALID_PAYLOAD') throw failure;
  });
}
