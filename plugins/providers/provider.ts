import type { JWTPayload } from 'jose';
import { isObject } from '../../schemas/common.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import { anyAddress, createHttpClient } from '../platform/http-client.js';
import type { Services } from '../platform/plugin.js';
import { challengeOf, nonceOf } from './attempts.js';
import { createEndpoints, type Endpoints } from './endpoints.js';
import { providerDown, quoted, refused, type Warn } from './failures.js';
import { fetchDocument, maxResponseBytes, parseJson } from './http.js';
import { createIdTokens } from './id-token.js';
import { createOAuthClient, type Tokens } from './oauth-client.js';
import { type Profile, readClaim, readProfile } from './profile.js';

/** The secrets of one login, which the browser keeps in cookies. The provider gets the state and the challenge of the verifier. */
export interface LoginSecrets {
  state: string;
  /** The PKCE code verifier. */
  verifier: string;
}

/** What the provider sends back with the browser. */
export interface Returned {
  code: string;
  /** The issuer (RFC 9207). */
  iss?: unknown;
  /** The name of the user, which Apple sends with the browser at the first login, because its ID tokens do not contain it. */
  user?: unknown;
}

/** One provider: sends browsers to it, and identifies the users who return. */
export interface Provider {
  config: ProviderConfig;
  /** The URL to send the browser to. @throws {ApiError} SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG */
  authorizationUrl(secrets: LoginSecrets): Promise<string>;
  /**
   * The profile of the user who returned from the provider.
   * @throws {ApiError} INVALID_CREDENTIALS, SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG
   */
  profile(returned: Returned, secrets: LoginSecrets, warn: Warn): Promise<Profile>;
}

export function createProvider({ config: service, clock, observe }: Services, config: ProviderConfig): Provider {
  const { key } = config;
  const { AUTH_PROVIDER_TIMEOUT: timeout } = service;
  const callbackUri = `${service.PUBLIC_URL}/auth/login/${key}/callback`;
  const fetchFrom = createHttpClient({ allows: anyAddress, timeout, maxBytes: maxResponseBytes, observe });
  const endpointsOf = createEndpoints(config, fetchFrom, clock);
  const idTokens = createIdTokens({ config, fetchFrom, clock });
  const client = createOAuthClient({ config, callbackUri, timeout, observe });

  const asProfile = (url: string, value: unknown): Record<string, unknown> => {
    if (!isObject(value)) throw providerDown(key, `${url} did not return an object.`);
    return value;
  };

  /** The primary address if it is verified, otherwise none, whatever the profile contains. GitHub's `/user/emails` defines the format. */
  const primaryEmail = async (url: string, token: string, warn: Warn): Promise<Record<string, unknown>> => {
    const text = await fetchDocument(fetchFrom, key, url, { token, mayBeDenied: true });
    if (text === undefined) warn(`${url} denied the request, so no address is known`);
    const list = text === undefined ? [] : parseJson(key, url, text);
    const main = Array.isArray(list) && list.find((item) => isObject(item) && item.primary === true);
    const isVerified = main && main.verified === true;
    const email: unknown = isVerified ? main.email : null;
    return { [config.EMAIL_KEY]: email, email, email_verified: isVerified };
  };

  /** The profile as JSON or, if the provider is configured to sign it, as a JSON Web Token. */
  const userInfo = async (url: string, token: string, endpoints: Endpoints['openid']) => {
    const text = (await fetchDocument(fetchFrom, key, url, { token })) ?? '';
    const isSigned = endpoints && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text.trim());
    return isSigned ? idTokens.verifyProfile(text.trim(), endpoints) : asProfile(url, parseJson(key, url, text));
  };

  /** The claims that a login uses. */
  const needed = [
    config.IDENTIFIER_KEY,
    config.EMAIL_KEY,
    'email_verified',
    config.FIRST_NAME_KEY,
    config.LAST_NAME_KEY,
    ...(config.ROLE_MAPPING.length > 0 ? [config.GROUP_CLAIM_NAME] : []),
  ];

  const openIdProfile = async (tokens: Tokens, state: string, { openid, profile: url }: Endpoints) => {
    const claims: JWTPayload = openid ? await idTokens.verify(tokens.id_token, nonceOf(state), openid) : {};
    const isComplete = needed.every((key) => readClaim(claims, key) !== undefined);
    const info = url === null || isComplete ? {} : await userInfo(url, tokens.access_token, openid);
    // Both must be about the same user (OpenID Connect Core 1.0, 5.3.2). The signed claims have priority.
    if (url !== null && !isComplete && info.sub !== claims.sub) {
      throw refused('The profile is about another user than the ID token.');
    }
    return { ...info, ...verifiedByMicrosoft(claims), ...claims };
  };

  const oauthProfile = async (tokens: Tokens, { profile: url }: Endpoints, warn: Warn) => {
    const profile = await userInfo(url ?? '', tokens.access_token, null);
    const { EMAILS_URL } = config;
    return EMAILS_URL ? { ...profile, ...(await primaryEmail(EMAILS_URL, tokens.access_token, warn)) } : profile;
  };

  return {
    config,

    authorizationUrl: async ({ state, verifier }) => {
      const challenge = challengeOf(verifier);
      return client.authorizationUrl(await endpointsOf(), { state, challenge, nonce: nonceOf(state) });
    },

    profile: async ({ code, iss, user }, { state, verifier }, warn) => {
      const endpoints = await endpointsOf();
      requireIssuer(iss, endpoints);
      const tokens = await client.exchange(endpoints, { code, verifier });
      const given = endpoints.openid
        ? await openIdProfile(tokens, state, endpoints)
        : await oauthProfile(tokens, endpoints, warn);
      const profile = readProfile(given, config, config.RESPONSE_MODE === 'form_post' ? user : undefined);
      if (profile.emailFault !== null) {
        warn('the email address is refused', { reason: profile.emailFault });
      }
      return profile;
    },
  };
}

/**
 * Microsoft asserts with the optional claim `xms_edov` that the owner of the address's domain has been verified. It sends no
 * `email_verified`, because administrators of a tenant can give their users any address.
 */
const verifiedByMicrosoft = ({ tid, xms_edov: isVerified }: JWTPayload): { email_verified?: true } =>
  typeof tid === 'string' && [true, 1, 'true', '1'].includes(isVerified as never) ? { email_verified: true } : {};

/** Requires that the response does not come from another provider (RFC 9207, 2.4). */
function requireIssuer(iss: unknown, { openid }: Endpoints): void {
  if (!openid || (iss === undefined && !openid.namesIssuer)) return;
  if (openid.issuer.matches(iss)) return;
  throw refused(
    `The provider returned the browser for the issuer ${quoted(iss) || 'none'}, not ${openid.issuer.name}.`,
  );
}
