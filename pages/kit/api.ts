import { ApiFailure, failureOf } from './api-failure.js';
import { leaveTo, withQuery } from './dom.js';
import { showNotice } from './notice.js';
import { page, type SessionMode } from './page-data.js';
import { text } from './texts.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Milliseconds. */
const requestTimeoutMs = 20_000;
/** Seconds. If the service is overloaded for longer than this, the page reports it instead of waiting. */
const maxWaitSeconds = 5;

/** @throws {ApiFailure} */
async function call<T>(
  credentials: RequestCredentials,
  method: Method,
  path: string,
  body?: object,
  token?: string,
): Promise<T> {
  const send = () =>
    fetch(`${page.base}${path}`, {
      method,
      credentials,
      cache: 'no-store',
      signal: AbortSignal.timeout(requestTimeoutMs),
      headers: {
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }).catch(() => {
      throw new ApiFailure('NETWORK');
    });
  let response = await send();
  const wait = secondsToWait(response);
  if (wait !== undefined) {
    showNotice(text('status_waiting'), wait * 1000);
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    response = await send();
  }
  if (!response.ok) throw await failureOf(response);
  const content = await response.text();
  return (content === '' ? undefined : JSON.parse(content)) as T;
}

/** After how many seconds the page repeats a request that the service had no time for; undefined: it does not. */
function secondsToWait({ status, headers }: Response): number | undefined {
  const seconds = Number.parseInt(headers.get('retry-after') ?? '', 10);
  return status === 503 && seconds <= maxWaitSeconds ? Math.max(1, seconds) : undefined;
}

/** Calls the API anonymously, without the session cookie. @throws {ApiFailure} */
export const callAnonymously = <T>(method: Method, path: string, body?: object): Promise<T> =>
  call('omit', method, path, body);

/** Calls the API with the session cookie, if there is one. @throws {ApiFailure} */
export const callWithCookie = <T>(method: Method, path: string, body?: object): Promise<T> =>
  call('same-origin', method, path, body);

/** The mode of the session with which the page calls the API. */
let [mode = 'session'] = page.sessionModes;
/** Only in `cookie` mode, whose cookie holds the refresh token. Kept only in memory, like the application that uses this mode does. */
let accessToken: string | undefined;
let renewal: Promise<void> | undefined;

/** Calls the API as the signed-in user. If the access token has expired, refreshes it and retries once. @throws {ApiFailure} */
export async function callInSession<T>(method: Method, path: string, body?: object): Promise<T> {
  const attempt = () => call<T>('same-origin', method, path, body, accessToken);
  if (mode === 'cookie' && accessToken === undefined) await renew();
  try {
    return await attempt();
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'TOKEN_EXPIRED') throw failure;
    await renew();
    return attempt();
  }
}

/** Calls that fail at the same time share one refresh. */
function renew(): Promise<void> {
  renewal ??= refresh().finally(() => {
    renewal = undefined;
  });
  return renewal;
}

async function refresh(): Promise<void> {
  type Tokens = { data: { access_token?: string } };
  const { data } = await callWithCookie<Tokens>('POST', '/auth/refresh', { mode }).catch((failure: ApiFailure) => {
    // The browser no longer has the cookie.
    throw failure.code === 'INVALID_PAYLOAD' ? new ApiFailure('TOKEN_EXPIRED') : failure;
  });
  accessToken = data.access_token;
}

/**
 * Makes a call for which only the end of the session can mean that the user is signed out, and repeats it with the session of the other
 * cookie, if the browser has one.
 * @throws {ApiFailure}
 */
export async function withEitherCookie<T>(callOnce: () => Promise<T>): Promise<T> {
  const attempted = mode;
  try {
    return await callOnce();
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || !failure.isSignedOut || !useOtherCookie(attempted)) throw failure;
    return callOnce();
  }
}

/** @returns whether there is another cookie than the attempted one. Another call may have changed to it already. */
function useOtherCookie(attempted: SessionMode): boolean {
  const next = page.sessionModes[page.sessionModes.indexOf(attempted) + 1];
  if (next === undefined) return false;
  mode = next;
  return true;
}

/** Calls an operation that anyone can call, with the session of this browser if there is one. @throws {ApiFailure} */
export async function callWithOwnSession<T>(method: Method, path: string, body?: object): Promise<T> {
  const token =
    mode === 'cookie'
      ? await renew().then(
          () => accessToken,
          () => undefined,
        )
      : undefined;
  return call('same-origin', method, path, body, token);
}

/** Goes to the sign-in page, which redirects back to this page. */
export const goToLogin = (): Promise<never> =>
  leaveTo(withQuery(page.links.login, { redirect: location.pathname + location.search }));

/** Whether the browser has a cookie of a session, valid or not. */
export const hasCookie = page.sessionModes.length > 0;

/** Ends the sessions of both cookies and clears the cookies, even if the sessions are no longer valid. @throws {ApiFailure} */
export const endSessions = (): Promise<void> => callWithCookie('POST', '/account/sign-out');
