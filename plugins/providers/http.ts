import { type ApiError, unavailable } from '../../schemas/errors.js';
import { type Note, type Observe, requestOf } from '../platform/traced-operations.js';

/** Maximum size of a response in bytes. No profile, key set or discovery document is larger. */
export const maxResponseBytes = 262_144;

/** The error for a provider that does not respond as it should. The cause appears only in the log. */
export const providerDown = (key: string, cause: unknown): ApiError => {
  const error = unavailable('provider_failed', { provider: key });
  error.cause = cause;
  return error;
};

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` with limits on the time and on the size of the response. It does not follow redirects.
 * @param timeout in milliseconds
 */
export function createFetch(timeout: number, observe: Observe): Fetch {
  const fetchWhole: (...given: [...Parameters<Fetch>, Note]) => ReturnType<Fetch> = async (url, init, note) => {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeout) });
    note({ 'http.response.status_code': response.status });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > maxResponseBytes) throw new Error(`${url} returned more than ${maxResponseBytes} bytes.`);
      chunks.push(chunk);
    }
    const { status, headers } = response;
    return new Response(Buffer.concat(chunks), { status: status === 204 ? 200 : status, headers });
  };
  return (url, init = {}) => observe(requestOf(init.method ?? 'GET', url), (note) => fetchWhole(url, init, note));
}

/** Fetches JSON from a provider. @throws {ApiError} SERVICE_UNAVAILABLE */
export async function fetchJson(fetchFrom: Fetch, key: string, url: string, token?: string): Promise<unknown> {
  try {
    const headers = { accept: 'application/json', 'user-agent': 'gatehouse' };
    const response = await fetchFrom(url, {
      headers: token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` },
    });
    if (!response.ok) throw new Error(`${url} returned status ${response.status}.`);
    return await response.json();
  } catch (error) {
    throw providerDown(key, error);
  }
}
