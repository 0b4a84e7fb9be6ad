import { ApiError } from '../../schemas/errors.js';

/** Parsers differ over these: some drop them, some take `\` for `/`. */
export const ambiguous = /[\s\\]|\p{Cc}/u;

/**
 * Whether a client may have links lead to this URL: it is in the list, to the letter, or of the same origin and path as
 * one that is. What could be read as another URL by somebody else is in no list but to the letter.
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

/** Characters of a URL that is mailed: anyone may ask for such a mail, to whomever they like. */
const longestUrl = 2048;

/** @throws {ApiError} INVALID_PAYLOAD when the URL is not in the list, or too long */
export function requireAllowedUrl(name: string, url: string | undefined, allowList: readonly string[]): void {
  if (url === undefined) return;
  if (url.length > longestUrl) {
    throw new ApiError('INVALID_PAYLOAD', { reason: `${name} may have ${longestUrl} characters` });
  }
  if (isAllowedUrl(url, allowList)) return;
  throw new ApiError('INVALID_PAYLOAD', { reason: `${name} is not in the list of URLs that are allowed here` });
}

/** A URL of the web, without a name and password in it; other schemes have no origin to compare. */
export function webUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' ? url : undefined;
}

const here = 'http://here.invalid';

/**
 * A path on our own origin; undefined when it is something else. A browser reads `//host`,
 * `/\host` and `/./\host` as another host, so the path is read as a browser reads it, and judged after that.
 */
export function pathHere(wanted: unknown): string | undefined {
  if (typeof wanted !== 'string' || !wanted.startsWith('/') || !URL.canParse(wanted, here)) return undefined;
  const { origin, pathname, search, hash } = new URL(wanted, here);
  if (origin !== here || pathname.startsWith('//')) return undefined;
  return `${pathname}${search}${hash}`;
}
