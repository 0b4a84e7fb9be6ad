/**
 * The URL of Gatehouse. It is empty because `server.js` forwards the requests. If your pages call Gatehouse on another
 * origin, set it to that origin, such as `https://accounts.example.com`.
 */
const service = '';

/** A request that failed. */
export class Failure extends Error {
  /**
   * @param {string} code an error code of the API, or `NETWORK` if there was no response
   * @param {string} [reason] why a password was rejected
   * @param {number} [retryAfter] the number of seconds to wait before the next attempt
   */
  constructor(code, reason, retryAfter) {
    super(code);
    this.code = code;
    this.reason = reason;
    this.retryAfter = retryAfter;
  }
}

/**
 * Sends a request to Gatehouse or, with a path such as `/api/…`, to your own server.
 * @param {string} path
 * @param {object} [body] makes it a POST request
 * @returns {Promise<any>} the `data` of the response, if it has any
 * @throws {Failure}
 */
export async function call(path, body) {
  const response = await fetch(path.startsWith('/api/') ? path : service + path, {
    method: body ? 'POST' : 'GET',
    // Sends and accepts cookies, even if Gatehouse is on another origin.
    credentials: 'include',
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Failure('NETWORK');
  });
  const content = await response.json().catch(() => undefined);
  if (response.ok) return content?.data;
  // A proxy can respond without a JSON body.
  const { code = `HTTP_${response.status}`, type } = content?.errors?.[0]?.extensions ?? {};
  const retryAfter = Number(response.headers.get('retry-after')) || undefined;
  throw new Failure(code, code === 'FAILED_VALIDATION' ? type : undefined, retryAfter);
}

/**
 * Like `call`, for signed-in users. If the access token has expired, refreshes the session and tries again.
 * @param {string} path
 * @param {object} [body]
 * @throws {Failure}
 */
export async function callSignedIn(path, body) {
  try {
    return await call(path, body);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'TOKEN_EXPIRED') throw error;
    await refresh();
    return call(path, body);
  }
}

/** Extends the session. @throws {Failure} */
export const refresh = () => call('/auth/refresh', { mode: 'session' });

/** Ends the session, if there still is one. @throws {Failure} */
export async function signOut() {
  try {
    await call('/auth/logout', { mode: 'session' });
  } catch (error) {
    // The browser no longer has a session cookie.
    if (!(error instanceof Failure) || error.code !== 'INVALID_PAYLOAD') throw error;
  }
}

/** Whether the failure means that the user is not signed in. @param {unknown} error */
export const isSignedOut = (error) =>
  error instanceof Failure && ['INVALID_CREDENTIALS', 'INVALID_TOKEN', 'TOKEN_EXPIRED'].includes(error.code);

/** Whether the failure means that the link from an email cannot be used. @param {unknown} error */
export const isDeadLink = (error) =>
  error instanceof Failure && ['INVALID_TOKEN', 'TOKEN_EXPIRED', 'FORBIDDEN'].includes(error.code);

/** @type {Record<string, string>} */
const passwordMessages = {
  too_short: 'Choose a longer password.',
  too_common: 'This password is easy to guess. Choose a less common one.',
  own_words: 'This password contains your name or address. Choose a different one.',
  breached: 'This password appears in a known data breach. Choose a different one.',
};

/** @param {string} [reason] */
export const passwordMessage = (reason) => passwordMessages[reason ?? ''] ?? 'Choose a stronger password.';

/** What to tell the user. @param {unknown} error */
export function messageOf(error) {
  const { code, reason, retryAfter } = error instanceof Failure ? error : new Failure('UNKNOWN');
  if (code === 'INVALID_CREDENTIALS') return 'The email address or password is incorrect.';
  if (code === 'INVALID_OTP') return 'The code is incorrect. Enter the current code.';
  if (code === 'FAILED_VALIDATION') return passwordMessage(reason);
  if (code === 'REQUESTS_EXCEEDED') return `Too many attempts. Try again in ${timeOf(retryAfter ?? 60)}.`;
  if (code === 'NETWORK') return 'There is no connection. Check your network, and try again.';
  return 'Something went wrong. Try again in a minute.';
}

/** @param {number} seconds */
function timeOf(seconds) {
  const [value, unit] = seconds < 60 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return `${value} ${unit}${value === 1 ? '' : 's'}`;
}
