import { isObject, parseUrl } from '../../schemas/common.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import type { Clock } from '../platform/clock.js';
import type { Fetch } from '../platform/http-client.js';
import { misconfigured, quoted } from './failures.js';
import { fetchDocument, parseJson } from './http.js';
import { type ExpectedIssuer, issuerOf, withoutSlash } from './issuers.js';

/** The endpoints of a provider. */
export interface Endpoints {
  authorize: string;
  token: string;
  /** How the service authenticates at the token endpoint. */
  tokenAuthMethod: 'client_secret_basic' | 'client_secret_post';
  /** URL of the profile; null: the ID token contains everything. */
  profile: string | null;
  /** Additional endpoints of OpenID Connect; null: the provider uses OAuth 2.0 only. */
  openid: OpenIdEndpoints | null;
}

export interface OpenIdEndpoints {
  issuer: ExpectedIssuer;
  jwks: string;
  /** Whether the responses of the authorization endpoint name the issuer (RFC 9207). */
  namesIssuer: boolean;
}

const wellKnown = '/.well-known/openid-configuration';
const lifetime = 3_600_000;

/**
 * The endpoints of a provider: from the configuration or, with OpenID Connect, from its discovery document. The document is read
 * only when it is needed, so that the service can start while a provider is down, and is kept for an hour.
 * @returns a function that rejects with {ApiError} SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG
 */
export function createEndpoints(config: ProviderConfig, fetchFrom: Fetch, clock: Clock): () => Promise<Endpoints> {
  const { AUTHORIZE_URL: authorize, ACCESS_URL: token, PROFILE_URL: profile } = config;
  if (config.DRIVER === 'oauth2') {
    const known: Endpoints = {
      authorize: authorize ?? '',
      token: token ?? '',
      profile: profile ?? null,
      tokenAuthMethod: config.TOKEN_AUTH_METHOD ?? 'client_secret_post',
      openid: null,
    };
    return async () => known;
  }
  let found: { endpoints: Promise<Endpoints>; until: number } | undefined;
  return () => {
    const now = clock().getTime();
    if (found && now < found.until) return found.endpoints;
    const latest = { endpoints: discover(config, fetchFrom), until: now + lifetime };
    found = latest;
    latest.endpoints.catch(() => {
      if (found === latest) found = undefined;
    });
    return latest.endpoints;
  };
}

/** OpenID Connect Discovery 1.0, sections 4.2 and 4.3. */
async function discover(
  { key, ISSUER_URL: configured = '', TOKEN_AUTH_METHOD }: ProviderConfig,
  fetchFrom: Fetch,
): Promise<Endpoints> {
  // Azure AD B2C names its policy in the query of the document's URL.
  const [expected = ''] = configured.split(wellKnown);
  const url = configured.includes(wellKnown) ? configured : `${withoutSlash(expected)}${wellKnown}`;
  const parsed = parseJson(key, url, (await fetchDocument(fetchFrom, key, url)) ?? '');
  const document = isObject(parsed) ? parsed : {};
  const text = (name: string) => (typeof document[name] === 'string' ? document[name] : '');

  const issuer = issuerOf(text('issuer'), expected);
  if (issuer === undefined) {
    const named = quoted(text('issuer'));
    throw misconfigured(key, `${url} contains the issuer ${JSON.stringify(named)}, which does not match ISSUER_URL.`);
  }
  const endpoint = (name: string, isOptional = false) => {
    const value = text(name);
    if (isUsable(expected, value) || (isOptional && value === '')) return value;
    throw misconfigured(key, `${url} contains no usable ${name}: ${JSON.stringify(quoted(value))}.`);
  };
  const methods = document.token_endpoint_auth_methods_supported;
  const takesBasic = !Array.isArray(methods) || methods.length === 0 || methods.includes('client_secret_basic');
  return {
    authorize: endpoint('authorization_endpoint'),
    token: endpoint('token_endpoint'),
    tokenAuthMethod: TOKEN_AUTH_METHOD ?? (takesBasic ? 'client_secret_basic' : 'client_secret_post'),
    profile: endpoint('userinfo_endpoint', true) || null,
    openid: {
      issuer,
      jwks: endpoint('jwks_uri'),
      namesIssuer: document.authorization_response_iss_parameter_supported === true,
    },
  };
}

/** If the issuer uses https, its endpoints must not use plain http. */
const isUsable = (issuer: string, url: string) =>
  /^https?:$/.test(parseUrl(url)?.protocol ?? '') && !(issuer.startsWith('https:') && url.startsWith('http:'));
