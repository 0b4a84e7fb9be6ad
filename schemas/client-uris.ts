import { parseUrl } from './common.js';
import { isAppOrigin, isWebOrigin } from './config-values.js';

// The URIs of clients and resources. They are stored exactly as they were entered, because they are compared character by character.
// Parsers must not be able to read them in different ways, so everything that they correct or remove is refused.

/** The rules that a URI can violate. Each text completes a sentence that begins with the name of the field. */
export const uriRules = {
  uri: 'must be an absolute URI that consists only of the characters allowed in URIs (RFC 3986)',
  fragment: 'must not contain a fragment (`#`)',
  userinfo: 'must not contain a username or password',
  wildcard: 'must not contain `*`, because URIs are compared character by character',
  https: 'must begin with https://, or with http:// and localhost, 127.0.0.1, or [::1]',
  https_only: 'must begin with https://',
  scheme:
    'must begin with https://, with http:// and localhost, 127.0.0.1, or [::1], or with the scheme of an app, which contains a dot, such as com.example.app:/callback',
  origin:
    'must be an origin without a path, such as https://app.example.com, http://localhost:3000, or capacitor://localhost',
} as const;

export type UriRule = keyof typeof uriRules;

export const isUriRule = (text: string): text is UriRule => Object.hasOwn(uriRules, text);

const uriPattern = /^[a-z][a-z0-9+.-]*:(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9a-f]{2})+$/i;

/** The hosts on which an app of the user's own device can listen (RFC 8252, 7.3). */
const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The rule that a URI violates, whatever its scheme is. */
function commonRule(text: string): UriRule | undefined {
  if (!uriPattern.test(text)) return 'uri';
  if (text.includes('#')) return 'fragment';
  return /^[^/?]+:\/\/[^/?]*@/.test(text) ? 'userinfo' : undefined;
}

/** The rule that a web address violates: https or, on the user's own device, http. */
function webRule(text: string): UriRule | undefined {
  const [, authority] = /^https?:\/\/([^/?]*)/i.exec(text) ?? [];
  if (authority === undefined) return /^https?:/i.test(text) ? 'uri' : 'https';
  const [, host = ''] = /^(\[[0-9a-f:]+\]|[\w.-]+)(?::[1-9]\d{0,4})?$/i.exec(authority) ?? [];
  const url = parseUrl(text);
  // Parsers read hosts such as `127.1` and `0x7f.1` as another address.
  if (host.toLowerCase() !== url?.hostname) return 'uri';
  return url.protocol === 'https:' || loopbackHosts.has(host.toLowerCase()) ? undefined : 'https';
}

/** The rule that a URL violates to which the service sends requests. */
export const webUrlRule = (text: string): UriRule | undefined => commonRule(text) ?? webRule(text);

/** The rule that the URL of something public, such as a logo, violates. */
export const publicUrlRule = (text: string): UriRule | undefined =>
  webUrlRule(text) ?? (/^https:/i.test(text) ? undefined : 'https_only');

/** The scheme of an app, which is a domain name in reverse (RFC 8252, 7.1). No scheme that browsers handle themselves contains a dot. */
const isAppUri = (text: string): boolean => /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\//i.test(text);

/** The rule that a redirect URI violates. */
export function redirectUriRule(text: string): UriRule | undefined {
  const rule = commonRule(text) ?? (text.includes('*') ? 'wildcard' : undefined);
  if (rule !== undefined || isAppUri(text)) return rule;
  const violated = webRule(text);
  return violated === 'https' ? 'scheme' : violated;
}

/** The rule that the origin of a page violates. */
export function originRule(text: string): UriRule | undefined {
  const isAllowed = (isWebOrigin(text) && webUrlRule(text) === undefined) || isAppOrigin(text);
  return isAllowed ? undefined : 'origin';
}

/** The rule that the identifier of a resource violates. No request is sent to it, so any scheme is allowed. */
export function identifierRule(text: string): UriRule | undefined {
  const rule = commonRule(text);
  return rule === undefined && parseUrl(text) === undefined ? 'uri' : rule;
}

/** Whether a text is a host, or a host with another port than 443, exactly as in a normalized https URL. */
export const isHttpsHost = (text: string): boolean =>
  /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/.test(text) && parseUrl(`https://${text}/`)?.host === text;
