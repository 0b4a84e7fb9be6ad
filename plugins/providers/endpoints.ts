import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import type { Clock } from '../platform/clock.js';
import { type Fetch, fetchJson } from './http.js';

/** Where to turn to at a provider. */
export interface Endpoints {
  authorize: string;
  token: string;
  /** How the service proves at the token endpoint who it is. */
  authorizationMethod: 'header' | 'body';
  /** Where the profile is read; null: the ID token has it all. */
  profile: string | null;
  /** What OpenID Connect has besides. */
  openid: OpenIdEndpoints | null;
}

export interface OpenIdEndpoints {
  /** As it stands in ID tokens; Microsoft's has `{tenantid}` in it, for that of the user. */
  issuer: string;
  jwks: string;
  /** Whether the answers of the authorization endpoint name the issuer (RFC 9207). */
  namesIssuer: boolean;
}

const wellKnown = '/.well-known/openid-configuration';
const lifetime = 3_600_000;

/**
 * The endpoints of a provider: from the configuration or, with OpenID Connect, from its discovery document. That is not
 * read before it is needed, so that the service starts also while a provider is down, and kept for an hour.
 * @returns rejects with {ApiError} SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG
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

/** What an issuer with `{tenantid}` in it stands for; any other for itself. */
export const issuerPattern = (issuer: string, tenant = '[A-Za-z0-9.-]+'): RegExp =>
  new RegExp(`^${issuer.split('{tenantid}').map(escaped).join(tenant)}$`);

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** A provider that is reached by https does not send us anywhere in the clear. */
const isUsable = (issuer: string) => (url: string) =>
  URL.canParse(url) &&
  /^https?:$/.test(new URL(url).protocol) &&
  !(issuer.startsWith('https:') && url.startsWith('http:'));
