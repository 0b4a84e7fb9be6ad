import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import type { Clock } from '../platform/clock.js';
import { type Fetch, fetchJson } from './http.js';

/** The endpoints of a provider. */
export interface Endpoints {
  authorize: string;
  token: string;
  /** How the service authenticates at the token endpoint. */
  authorizationMethod: 'header' | 'body';
  /** URL of the profile; null: the ID token contains everything. */
  profile: string | null;
  /** Additional endpoints of OpenID Connect; null: the provider uses OAuth 2.0 only. */
  openid: OpenIdEndpoints | null;
}

export interface OpenIdEndpoints {
  /** The issuer in ID tokens. Microsoft's issuer contains `{tenantid}`, a placeholder for the user's tenant. */
  issuer: string;
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
      authorizationMethod: 'body',
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
async function discover({ key, ISSUER_URL }: ProviderConfig, fetchFrom: Fetch): Promise<Endpoints> {
  const expected = withoutSlash((ISSUER_URL ?? '').replace(wellKnown, ''));
  const document = await fetchJson(fetchFrom, key, `${expected}${wellKnown}`);
  const text = (name: string) => (isObject(document) && typeof document[name] === 'string' ? document[name] : '');
  const list = (name: string) => (isObject(document) && Array.isArray(document[name]) ? document[name] : []);
  const issuer = text('issuer');
  const isAsExpected = issuerPattern(withoutSlash(issuer)).test(expected);
  const [authorize, token, jwks] = [text('authorization_endpoint'), text('token_endpoint'), text('jwks_uri')];
  const profile = text('userinfo_endpoint');
  const areUrls = [authorize, token, jwks, ...(profile === '' ? [] : [profile])].every(isUsable(expected));
  if (!isAsExpected || !areUrls) throw new ApiError('INVALID_PROVIDER_CONFIG', { provider: key });

  const methods = list('token_endpoint_auth_methods_supported');
  const takesHeader = methods.length === 0 || methods.includes('client_secret_basic');
  return {
    authorize,
    token,
    authorizationMethod: takesHeader ? 'header' : 'body',
    profile: profile === '' ? null : profile,
    openid: {
      issuer,
      jwks,
      namesIssuer: isObject(document) && document.authorization_response_iss_parameter_supported === true,
    },
  };
}

const withoutSlash = (url: string) => url.replace(/\/+$/, '');

/** Matches the issuers that an issuer with `{tenantid}` stands for. Any other issuer matches only itself. */
export const issuerPattern = (issuer: string, tenant = '[A-Za-z0-9.-]+'): RegExp =>
  new RegExp(`^${issuer.split('{tenantid}').map(escaped).join(tenant)}$`);

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** If the issuer uses https, its endpoints must not use plain http. */
const isUsable = (issuer: string) => (url: string) =>
  URL.canParse(url) &&
  /^https?:$/.test(new URL(url).protocol) &&
  !(issuer.startsWith('https:') && url.startsWith('http:'));
