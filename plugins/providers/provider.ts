import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import type { Clock } from '../platform/clock.js';
import { challengeOf, nonceOf } from './attempts.js';
import { createEndpoints, type Endpoints } from './endpoints.js';
import { createFetch, fetchJson, providerDown } from './http.js';
import { createIdTokens } from './id-token.js';
import { createOAuthClient, type OAuthClient, type OAuthClientOptions } from './oauth-client.js';
import { type Profile, readProfile } from './profile.js';

/** The secrets of one login, which the browser keeps in cookies. The provider gets the state and the challenge of the verifier. */
export interface LoginSecrets {
  state: string;
  /** The PKCE code verifier. */
  verifier: string;
}

/** One provider: sends browsers to it, and identifies the users who return. */
export interface Provider {
  config: ProviderConfig;
  /** The URL to send the browser to. @throws {ApiError} SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG */
  authorizationUrl(request: FastifyRequest, reply: FastifyReply, secrets: LoginSecrets): Promise<string>;
  /**
   * The profile of the user who returned from the provider.
   * @throws {ApiError} INVALID_CREDENTIALS, SERVICE_UNAVAILABLE, INVALID_PROVIDER_CONFIG
   */
  profile(request: FastifyRequest, reply: FastifyReply, secrets: LoginSecrets): Promise<Profile>;
}

type Options = Pick<OAuthClientOptions, 'callbackUri' | 'timeout' | 'observe' | 'cookie' | 'cookieNames'>;

export function createProvider(config: ProviderConfig, clock: Clock, options: Options): Provider {
  const { key } = config;
  const fetchFrom = createFetch(options.timeout, options.observe);
  const endpointsOf = createEndpoints(config, fetchFrom, clock);
  const idTokens = createIdTokens({ key, clientId: config.CLIENT_ID, fetchFrom, clock });
  const clients = new WeakMap<Endpoints, Promise<OAuthClient>>();
  /** The OAuth client reads the state of a request when it creates the URL. */
  const states = new WeakMap<FastifyRequest, string>();
  const stateOf = (request: FastifyRequest) => states.get(request) ?? '';
  const isStateValid = (request: FastifyRequest) =>
    request
      .cookieValues(options.cookieNames.state)
      .some((value) => value === (request.query as { state?: unknown }).state);

  const clientOf = (endpoints: Endpoints): Promise<OAuthClient> => {
    const client =
      clients.get(endpoints) ?? createOAuthClient({ ...options, config, endpoints, stateOf, isStateValid });
    clients.set(endpoints, client);
    return client;
  };

  const read = async (url: string, token: string): Promise<Record<string, unknown>> => {
    const profile = await fetchJson(fetchFrom, key, url, token);
    if (!isObject(profile)) throw providerDown(key, new Error(`${url} did not return an object.`));
    return profile;
  };

  /** The primary address if it is verified, otherwise none, whatever the profile contains. GitHub's `/user/emails` defines the format. */
  const primaryEmail = async (url: string, token: string): Promise<Record<string, unknown>> => {
    const list = await fetchJson(fetchFrom, key, url, token);
    const main = Array.isArray(list) && list.find((item) => isObject(item) && item.primary === true);
    const isVerified = main && main.verified === true;
    const email: unknown = isVerified ? main.email : null;
    return { [config.EMAIL_KEY]: email, email, email_verified: isVerified };
  };

  const openIdProfile = async (tokens: Tokens, state: string, { openid, profile: url }: Endpoints) => {
    const claims = openid ? await idTokens.verify(tokens.id_token, nonceOf(state), openid) : {};
    const info = url === null ? {} : await read(url, tokens.access_token);
    // Both must be about the same user (OpenID Connect Core 1.0, 5.3.2). The signed claims have priority.
    if (url !== null && info.sub !== claims.sub) throw new ApiError('INVALID_CREDENTIALS');
    return { ...info, ...claims };
  };

  const oauthProfile = async (tokens: Tokens, { profile: url }: Endpoints) => {
    const profile = await read(url ?? '', tokens.access_token);
    const { EMAILS_URL } = config;
    return EMAILS_URL ? { ...profile, ...(await primaryEmail(EMAILS_URL, tokens.access_token)) } : profile;
  };

  return {
    config,

    authorizationUrl: async (request, reply, { state, verifier }) => {
      const endpoints = await endpointsOf();
      const client = await clientOf(endpoints);
      states.set(request, state);
      const url = await client.authorizationUrl(request, reply, {
        code_challenge: challengeOf(verifier),
        ...(endpoints.openid && { nonce: nonceOf(state) }),
      });
      // Replaces the verifier that the client generated, which does not match the challenge in the state.
      reply.setCookie(options.cookieNames.verifier, verifier, options.cookie);
      return url;
    },

    profile: async (request, reply, { state, verifier }) => {
      const endpoints = await endpointsOf();
      requireIssuer(request.query as { iss?: unknown }, endpoints);
      const client = await clientOf(endpoints);
      // If there are several cookies, the client would read the first one.
      request.cookies[options.cookieNames.verifier] = verifier;
      const { access_token, id_token } = await client.tokens(request, reply);
      const tokens = { access_token: String(access_token), id_token };
      const given = endpoints.openid
        ? await openIdProfile(tokens, state, endpoints)
        : await oauthProfile(tokens, endpoints);
      const profile = readProfile(given, config);
      if (profile.emailFault !== null) {
        request.log.warn(
          { provider: key, reason: profile.emailFault },
          'the email address from the provider is refused',
        );
      }
      return profile;
    },
  };
}

interface Tokens {
  access_token: string;
  id_token: unknown;
}

/** Requires that the response does not come from another provider (RFC 9207, 2.4). */
function requireIssuer({ iss }: { iss?: unknown }, { openid }: Endpoints): void {
  if (!openid || (iss === undefined && !openid.namesIssuer)) return;
  if (iss !== openid.issuer) throw new ApiError('INVALID_CREDENTIALS');
}
