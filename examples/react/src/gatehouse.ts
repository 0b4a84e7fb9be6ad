/** A request that failed. */
export class Failure extends Error {
  constructor(
    /** An error code of the API, `NETWORK` if there was no response, or `SIGNED_OUT` if the session has ended. */
    readonly code: string,
    /** Why a password was rejected. */
    readonly reason?: string,
    /** The number of seconds to wait before the next attempt. */
    readonly retryAfter = 60,
  ) {
    super(code);
  }
}

/**
 * Sends a request to Gatehouse.
 * @param body makes it a POST request
 * @returns the `data` of the response
 * @throws {Failure}
 */
export async function call<T = void>(path: string, body?: object, token?: string): Promise<T> {
  const response = await fetch(path, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Failure('NETWORK');
  });
  // Some responses have no body, and a proxy can respond with something other than JSON.
  const content = await response.json().catch(() => undefined);
  if (response.ok) return content?.data;
  const { code = `HTTP_${response.status}`, type } = content?.errors?.[0]?.extensions ?? {};
  throw new Failure(code, type, Number(response.headers.get('retry-after')) || undefined);
}

/**
 * The access token is only in memory, where it is lost when the page is closed or reloaded. The refresh token is in an
 * HttpOnly cookie, which scripts cannot read. So neither of them is in `localStorage`.
 */
let access: { token: string; expiresAt: number } | undefined;

/**
 * Signs in with `/auth/login` or `/auth/passkey`, or continues the session with `/auth/refresh`.
 * @throws {Failure}
 */
export async function startSession(path: string, body: object): Promise<void> {
  const tokens = await call<{ access_token: string; expires: number }>(path, { ...body, mode: 'cookie' });
  access = { token: tokens.access_token, expiresAt: Date.now() + tokens.expires };
}

let refreshing: Promise<void> | undefined;

/**
 * Returns the access token, which you can also send to your own API. Refreshes it if it is about to expire, or if a
 * reload of the page has removed it.
 * @throws {Failure} with `SIGNED_OUT` if no user is signed in
 */
export async function getAccessToken(): Promise<string> {
  if (!access || Date.now() > access.expiresAt - 30_000) {
    // Calls at the same time share one refresh.
    refreshing ??= startSession('/auth/refresh', {}).finally(() => {
      refreshing = undefined;
    });
    // INVALID_PAYLOAD: there is no cookie.
    await refreshing.catch(signedOutIf('INVALID_PAYLOAD', 'INVALID_CREDENTIALS'));
  }
  if (!access) throw new Failure('SIGNED_OUT');
  return access.token;
}

/**
 * Like `call`, for signed-in users.
 * @throws {Failure} with `SIGNED_OUT` if no user is signed in
 */
export async function callSignedIn<T = void>(path: string, body?: object): Promise<T> {
  const token = await getAccessToken();
  return call<T>(path, body, token).catch(signedOutIf('INVALID_CREDENTIALS', 'INVALID_TOKEN', 'TOKEN_EXPIRED'));
}

/** Ends the session, if there still is one. @throws {Failure} */
export async function signOut(): Promise<void> {
  await call('/auth/logout', { mode: 'cookie' }).catch((error) => {
    // The browser no longer has a refresh cookie.
    if (codeOf(error) !== 'INVALID_PAYLOAD') throw error;
  });
  access = undefined;
}

const signedOutIf =
  (...codes: string[]) =>
  (error: unknown): never => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
    access = undefined;
    throw new Failure('SIGNED_OUT');
  };

export const codeOf = (error: unknown) => (error instanceof Failure ? error.code : undefined);

/** Whether the link from an email cannot be used. */
export const isDeadLink = (error: unknown) =>
  ['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN', 'INVALID_INVITE'].includes(codeOf(error) ?? '');

const passwordMessages: Record<string, string> = {
  too_short: 'Choose a longer password.',
  too_common: 'This password is easy to guess. Choose a less common one.',
  own_words: 'This password contains your name or address. Choose a different one.',
  breached: 'This password appears in a known data breach. Choose a different one.',
};

const messages: Record<string, string> = {
  INVALID_CREDENTIALS: 'The email address or password is incorrect.',
  INVALID_OTP: 'The code is incorrect. Enter the current code.',
  UNKNOWN_PASSKEY: 'This passkey is not accepted here.',
  SIGNED_OUT: 'You are no longer signed in. Reload the page to sign in again.',
  REAUTHENTICATION_REQUIRED: 'To do this, sign out and sign in again first.',
  // Errors of the browser: the user closed its dialog, or the dialog timed out.
  NotAllowedError: 'No passkey was used. Try again.',
  InvalidStateError: 'This device already has a passkey for your account.',
  NETWORK: 'There is no connection. Check your network, and try again.',
};

/** What to tell the user. */
export function messageOf(error: unknown): string {
  if (error instanceof Failure) {
    const { code, reason = '', retryAfter } = error;
    if (code === 'FAILED_VALIDATION') return passwordMessages[reason] ?? 'Choose a stronger password.';
    if (code === 'REQUESTS_EXCEEDED') return `Too many attempts. Try again in ${Math.ceil(retryAfter / 60)} min.`;
  }
  const code = codeOf(error) ?? (error instanceof Error ? error.name : '');
  return messages[code] ?? 'Something went wrong. Try again in a minute.';
}
