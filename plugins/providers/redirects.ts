import { ApiError } from '../../schemas/errors.js';
import { isAllowedUrl, pathHere } from '../urls.js';

/** A longer one would make the state, which carries it, too long for the address line. */
const longest = 1024;

/** Parsers differ over these: some drop them, some take `\` for `/`. */
const ambiguous = /[\s\\]|\p{Cc}/u;

/**
 * Where a login by provider may lead: a path here, our own origin, or a URL that the provider's list has (contract 2.5).
 * @returns the place as it may stand in a Location header
 * @throws {ApiError} INVALID_PAYLOAD
 */
export function requireRedirect(wanted: string, publicUrl: string, allowList: readonly string[]): string {
  const target = wanted.length > longest ? undefined : targetOf(wanted, publicUrl, allowList);
  if (target === undefined) {
    throw new ApiError('INVALID_PAYLOAD', {
      reason:
        'redirect takes a path of this service, or a URL that the REDIRECT_ALLOW_LIST of the provider has; at most 1024 characters',
    });
  }
  return target;
}

function targetOf(wanted: string, publicUrl: string, allowList: readonly string[]): string | undefined {
  if (ambiguous.test(wanted)) return undefined;
  if (wanted.startsWith('/')) return pathHere(wanted);
  // `https:host` and `https:///host` are read as `https://host` by some and as paths by others.
  if (!/^https?:\/\/[^/]/i.test(wanted) || !URL.canParse(wanted)) return undefined;
  const url = new URL(wanted);
  const isNamed = url.username !== '' || url.password !== '';
  const isOwn = url.origin === new URL(publicUrl).origin && !isNamed;
  return isOwn || (!isNamed && isAllowedUrl(wanted, allowList)) ? url.href : undefined;
}

/** Where a login that failed leads: the same place, with the reason for its only parameter. */
export function redirectWithReason(redirect: string, code: string): string {
  const [place = ''] = redirect.split(/[?#]/, 1);
  return `${place}?reason=${encodeURIComponent(code)}`;
}
