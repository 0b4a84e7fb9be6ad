import { ApiError } from '../../schemas/errors.js';
import { ambiguous, isAllowedUrl, pathHere, webUrl } from '../platform/urls.js';

/** A longer one would make the state, which carries it, too long for the address line. */
const longest = 1024;

/**
 * Where a login by provider may lead: a path here, our own origin, or a URL that the provider's list has.
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
  const url = /^https?:\/\/[^/]/i.test(wanted) ? webUrl(wanted) : undefined;
  const isOwn = url?.origin === new URL(publicUrl).origin;
  return url && (isOwn || isAllowedUrl(wanted, allowList)) ? url.href : undefined;
}

/** Where a login that failed leads: the same place, with the reason for its only parameter. */
export function redirectWithReason(redirect: string, code: string): string {
  const [place = ''] = redirect.split(/[?#]/, 1);
  return `${place}?reason=${encodeURIComponent(code)}`;
}
