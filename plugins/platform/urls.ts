import { parseUrl } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';

/** URL parsers treat these characters differently: some remove them, and some read `\` as `/`. */
export const ambiguous = /[\s\\]|\p{Cc}/u;

/**
 * Whether links may lead to this URL: it is in the list, or has the same origin and path as a URL in the list. A URL that other
 * parsers could read differently must match an entry exactly.
 */
export function isAllowedUrl(url: string, allowList: readonly string[]): boolean {
  if (allowList.includes(url)) return true;
  if (ambiguous.test(url)) return false;
  const given = webUrl(url);
  return allowList.some((allowed) => {
    const known = webUrl(allowed);
    return given && known && known.origin === given.origin && known.pathname === given.pathname;
  });
}

/** The path of PUBLIC_URL, without a trailing slash. */
export const basePathOf = (publicUrl: string): string => new URL(publicUrl).pathname.replace(/\/+$/, '');

/** Characters. Limits URLs in emails, because anyone can request such an email to any address. */
const maxUrlLength = 2048;

/** Characters of the query and the fragment, which the list does not determine. Plain-text emails contain them. */
const maxUrlRestLength = 200;

/** @throws {ApiError} INVALID_PAYLOAD if the URL is not in the list, or is too long */
export function requireAllowedUrl(name: string, url: string | undefined, allowList: readonly string[]): void {
  if (url === undefined) return;
  if (url.length > maxUrlLength) {
    throw new ApiError('INVALID_PAYLOAD', { reason: `${name} can have at most ${maxUrlLength} characters` });
  }
  if (!isAllowedUrl(url, allowList)) {
    throw new ApiError('INVALID_PAYLOAD', { reason: `${name} is not in the list of allowed URLs` });
  }
  const [, query = '', fragment = ''] = /^[^?#]*\??([^#]*)#?(.*)$/s.exec(url) ?? [];
  if (query.length + fragment.length > maxUrlRestLength) {
    const reason = `The query and fragment of ${name} can have at most ${maxUrlRestLength} characters in total`;
    throw new ApiError('INVALID_PAYLOAD', { reason });
  }
}

/** Parses an HTTP or HTTPS URL without a username and password. Other schemes have no origin to compare. */
export function webUrl(text: string): URL | undefined {
  const url = parseUrl(text);
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' ? url : undefined;
}

/** Whether a text is an https URL, such as that of an avatar. */
export const isHttpsUrl = (text: string): boolean => /^https:\/\/[^\s]+$/i.test(text) && parseUrl(text) !== undefined;

/** Characters of a URL to return to, when it is encoded in a query. A login through a provider carries it along. */
const maxReturnLength = 900;

/**
 * Normalizes the URL of an app to which the user returns after the login; undefined if its origin is not in the list.
 * @param origins origins as browsers write them, of websites or of apps with their own scheme
 */
export function returnUrl(origins: readonly string[], wanted: unknown): string | undefined {
  if (typeof wanted !== 'string' || ambiguous.test(wanted)) return undefined;
  const url = parseUrl(wanted);
  const isPlain = url?.username === '' && url.password === '';
  // The URLs of apps have no origin in the sense of the URL standard.
  if (!isPlain || !origins.includes(`${url.protocol}//${url.host}`)) return undefined;
  return encodeURIComponent(url.href).length <= maxReturnLength ? url.href : undefined;
}

const here = 'http://here.invalid';

/**
 * Normalizes a path on the origin of the service; undefined if it leads elsewhere. Browsers read `//host`, `/\host` and
 * `/./\host` as another host, so the path is parsed as in a browser before it is checked.
 */
export function sameOriginPath(wanted: unknown): string | undefined {
  const url = typeof wanted === 'string' && wanted.startsWith('/') ? parseUrl(wanted, here) : undefined;
  if (!url || url.origin !== here || url.pathname.startsWith('//')) return undefined;
  return `${url.pathname}${url.search}${url.hash}`;
}

/**
 * The target after a login, which must be one of the account pages or a screen of the console: a path of the API could make the browser do
 * something for an attacker. The paths of the pages consist of plain characters, so a path with encoded characters is rejected.
 * @param base the path of PUBLIC_URL, without a trailing slash
 */
export function pagePath(base: string, wanted: unknown): string | undefined {
  const path = typeof wanted === 'string' && !ambiguous.test(wanted) ? sameOriginPath(wanted) : undefined;
  if (path === undefined || !path.startsWith(`${base}/`)) return undefined;
  const [page = ''] = path.slice(base.length).split(/[?#]/, 1);
  // Some pages have IDs in their paths: that of an application's request, and those of the items in the console.
  return /^\/(?:account(?:\/authorize\/[\w-]+|(?:\/[a-z-]+)*\/?)|console(?:\/[\w-]+)*\/?)$/.test(page)
    ? path
    : undefined;
}
