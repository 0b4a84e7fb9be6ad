import type { Fetch } from '../platform/http-client.js';
import { providerDown } from './failures.js';

/** Maximum size of a response in bytes. No profile, key set or discovery document is larger. */
export const maxResponseBytes = 262_144;

export const requestHeaders = { accept: 'application/json', 'user-agent': 'gatehouse' };

/**
 * Whether a provider refuses a request for good, because the client has no permission for it. GitHub also uses 403 to limit requests.
 */
const isDenied = ({ status, headers }: Response): boolean =>
  status === 404 || (status === 403 && !headers.has('retry-after') && headers.get('x-ratelimit-remaining') !== '0');

/**
 * Fetches a document from a provider.
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
