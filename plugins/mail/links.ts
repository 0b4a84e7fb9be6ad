import { ApiError } from '../../schemas/errors.js';

/**
 * Whether a client may have links lead to this URL: it is in the list, to the letter, or of the same origin and path as
 * one that is (contract 6.2). What could be read as another URL by somebody else is in no list but to the letter.
 */
export function isAllowedUrl(url: string, allowList: readonly string[]): boolean {
  if (allowList.includes(url)) return true;
  // Parsers differ over these: some drop them, some take `\` for `/`.
  if (/[\s\\]|\p{Cc}/u.test(url)) return false;
  const given = webUrl(url);
  return allowList.some((allowed) => {
    const known = webUrl(allowed);
    return given && known && known.origin === given.origin && known.pathname === given.pathname;
  });
}

/** @throws {ApiError} INVALID_PAYLOAD when the URL is not in the list */
export function requireAllowedUrl(name: string, url: string | undefined, allowList: readonly string[]): void {
  if (url === undefined || isAllowedUrl(url, allowList)) return;
  throw new ApiError('INVALID_PAYLOAD', { reason: `${name} is not in the list of URLs that are allowed here` });
}

/** A URL of the web, without a name and password in it; other schemes have no origin to compare. */
function webUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' ? url : undefined;
}

/** The URL with the token as a query parameter; its own query and fragment stay, but for a `token` of its own. */
export function linkWith(base: string, token: string): string {
  const url = new URL(base);
  if (url.searchParams.has('token')) url.searchParams.delete('token');
  const separator = url.search === '' ? '?' : '&';
  url.search += `${separator}token=${token}`;
  return url.href;
}
