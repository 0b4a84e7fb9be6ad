import oauth2, { type FastifyOAuth2Options, type OAuth2Namespace } from '@fastify/oauth2';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import { type Observe, requestOf } from '../platform/traced-operations.js';
import type { Endpoints } from './endpoints.js';
import { maxResponseBytes, providerDown } from './http.js';

/** The steps of the flow that need the request and the reply, because these carry the cookies with the state and the verifier. */
export interface OAuthClient {
  /** The URL to send the browser to. */
  authorizationUrl(request: FastifyRequest, reply: FastifyReply, more: Record<string, string>): Promise<string>;
  /**
   * Exchanges the code that the browser returned with, and clears the cookies.
   * @throws {ApiError} INVALID_CREDENTIALS when the state or the code is wrong; INVALID_PROVIDER_CONFIG; SERVICE_UNAVAILABLE
   */
  tokens(request: FastifyRequest, reply: FastifyReply): Promise<{ access_token?: unknown; id_token?: unknown }>;
}

export interface OAuthClientOptions {
  config: ProviderConfig;
  endpoints: Endpoints;
  callbackUri: string;
  /** Milliseconds. */
  timeout: number;
  observe: Observe;
  cookie: NonNullable<FastifyOAuth2Options['cookie']>;
  cookieNames: { state: string; verifier: string };
  stateOf(request: FastifyRequest): string;
  isStateValid(request: FastifyRequest): boolean;
}

/**
 * The authorization code flow with PKCE (RFC 7636, S256). The plugin for it is registered on a separate app, which serves no
 * requests, because the endpoints become known only after the main app has started.
 */
export async function createOAuthClient(options: OAuthClientOptions): Promise<OAuthClient> {
  const { config, endpoints, callbackUri, timeout, observe, cookie, cookieNames, stateOf, isStateValid } = options;
  const [authorize, token] = [new URL(endpoints.authorize), new URL(endpoints.token)];
  const host = fastify();
  await host.register(oauth2, {
    name: 'provider',
    scope: config.SCOPE.split(/\s+/),
    callbackUri,
    callbackUriParams: Object.fromEntries(config.PARAMS),
    pkce: 'S256',
    userAgent: 'gatehouse',
    cookie,
    redirectStateCookieName: cookieNames.state,
    verifierCookieName: cookieNames.verifier,
    generateStateFunction: (request: FastifyRequest) => stateOf(request),
    checkStateFunction: (request: FastifyRequest) => isStateValid(request),
    credentials: {
      client: { id: config.CLIENT_ID, secret: config.CLIENT_SECRET },
      auth: {
        authorizeHost: authorize.origin,
        authorizePath: authorize.pathname + authorize.search,
        tokenHost: token.origin,
        tokenPath: token.pathname + token.search,
      },
      options: { authorizationMethod: endpoints.authorizationMethod },
      http: { timeout, maxBytes: maxResponseBytes },
    },
  });
  await host.ready();
  const { provider } = host as unknown as { provider: OAuth2Namespace };

  return {
    authorizationUrl: async (request, reply, more) => {
      const url = new URL(await provider.generateAuthorizationUri(request, reply));
      for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value);
      return url.href;
    },

    tokens: async (request, reply) => {
      try {
        const { token: set } = await observe(requestOf('POST', endpoints.token), () =>
          provider.getAccessTokenFromAuthorizationCodeFlow(request, reply),
        );
        if (typeof set.access_token === 'string') return set;
        // GitHub returns errors with status 200.
        throw refusal(config.key, (set as { error?: unknown }).error, 400, set);
      } catch (error) {
        if (error instanceof ApiError) throw error;
        const { output, data } = error as WreckError;
        throw refusal(config.key, data?.payload?.error, data?.isResponseError ? output?.statusCode : undefined, error);
      }
    },
  };
}

/** The error that the HTTP client throws for an unsuccessful response. */
interface WreckError {
  output?: { statusCode?: number };
  data?: { payload?: { error?: unknown } | undefined; isResponseError?: boolean };
}

/** Errors of the token endpoint that are the fault of the service, not of the user (RFC 6749, 5.2). The last two are specific to GitHub. */
const ourFaults = new Set<unknown>([
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
]);

/** The reason why there is no token, as an API error. @param status undefined: there was no readable response */
function refusal(key: string, reason: unknown, status: number | undefined, cause: unknown): ApiError {
  const isCodeWrong = typeof reason === 'string' && (status === 400 || status === 401 || status === 403);
  const error = ourFaults.has(reason)
    ? new ApiError('INVALID_PROVIDER_CONFIG', { provider: key })
    : isCodeWrong
      ? new ApiError('INVALID_CREDENTIALS')
      : providerDown(key, cause);
  error.cause = typeof reason === 'string' ? new Error(`The token endpoint returned ${reason}.`, { cause }) : cause;
  return error;
}
