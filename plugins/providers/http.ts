import { type Note, type Observe, requestOf } from '../platform/traced-operations.js';
import { providerDown } from './failures.js';

/** Maximum size of a response in bytes. No profile, key set or discovery document is larger. */
export const maxResponseBytes = 262_144;

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

export const requestHeaders = { accept: 'application/json', 'user-agent': 'gatehouse' };

/**
 * Whether a provider refuses a request for good, because the client has no permission for it. GitHub also uses 403 to limit requests.
 */
const isDenied = ({ status, headers }: Response): boolean =>
  status === 404 || (status === 403 && !headers.has('retry-after') && headers.get('x-ratelimit-remaining') !== '0');

/**
 * Fetches a document from a provider, and reads it.
 * @param read reads the text of the response, by default as JSON
 * @returns undefined if `mayBeDenied` is set and the provider denies the request
 * @throws {ApiError} SERVICE_UNAVAILABLE
 */
export async function fetchDocument(
  fetchFrom: Fetch,
  key: string,
  url: string,
  { token, mayBeDenied = false }: { token?: string; mayBeDenied?: boolean } = {},
): Promise<string | undefined> {
  try {
    const headers = token === undefined ? requestHeaders : { ...requestHeaders, authorization: `Bearer ${token}` };
    const response = await fetchFrom(url, { headers });
    if (mayBeDenied && isDenied(response)) return undefined;
    if (!response.ok) throw new Error(`${url} returned status ${response.status}.`);
    return await response.text();
  } catch (error) {
    throw providerDown(key, error);
  }
}

/** Parses a response as JSON. @throws {ApiError} SERVICE_UNAVAILABLE */
export function parseJson(key: string, url: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw providerDown(key, `${url} did not return JSON.`);
  }
}
