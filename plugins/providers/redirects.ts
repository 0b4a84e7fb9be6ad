import { ApiError } from '../../schemas/errors.js';
import { ambiguous, isAllowedUrl, sameOriginPath, webUrl } from '../platform/urls.js';

/** The state contains the redirect, so a longer one would make the state too long for a URL. */
const maxLength = 1024;

/**
 * Where a login through a provider can redirect to: a path of this service, a URL of its own origin, or a URL in the provider's
 * REDIRECT_ALLOW_LIST.
 * @returns the target in a form that is valid in a Location header
 * @throws {ApiError} INVALID_PAYLOAD
 */
export function requireRedirect(wanted: string, publicUrl: string, allowList: readonly string[]): string {
  const target = wanted.length > maxLength ? undefined : targetOf(wanted, publicUrl, allowList);
  if (target === undefined) {
    throw new ApiError('INVALID_PAYLOAD', {
      reason:
        'redirect must be a path of this service or a URL in the REDIRECT_ALLOW_LIST of the provider, with at most 1024 characters',
    });
  }
  return target;
}

function targetOf(wanted: string, publicUrl: string, allowList: readonly string[]): string | undefined {
  if (ambiguous.test(wanted)) return undefined;
  if (wanted.startsWith('/')) return sameOriginPath(wanted);
  // Some parsers read `https:host` and `https:///host` as `https://host`, others as paths.
  const url = /^https?:\/\/[^/]/i.test(wanted) ? webUrl(wanted) : undefined;
  const isOwn = url?.origin === new URL(publicUrl).origin;
  return url && (isOwn || isAllowedUrl(wanted, allowList)) ? url.href : undefined;
}

/** The target of a failed login: the same URL, with the reason as its only parameter. */
export function redirectWithReason(redirect: string, code: string): string {
  const [place = ''] = redirect.split(/[?#]/, 1);
  return `${place}?reason=${encodeURIComponent(code)}`;
}
