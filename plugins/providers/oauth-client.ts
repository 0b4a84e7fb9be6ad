import fastify from 'fastify';
import { isObject } from '../../schemas/common.js';
import type { ApiError } from '../../schemas/errors.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import { type Observe, requestOf } from '../platform/traced-operations.js';
import type { Endpoints } from './endpoints.js';
import { misconfigured, providerDown, quoted, refused } from './failures.js';
import { maxResponseBytes, requestHeaders } from './http.js';

export interface Tokens {
  access_token: string;
  id_token: unknown;
}

/** The authorization code flow (RFC 6749, 4.1) with PKCE (RFC 7636, S256), unless the provider rejects it. */
export interface OAuthClient {
  /** The URL to send the browser to. */
  authorizationUrl(endpoints: Endpoints, login: { state: string; challenge: string; nonce: string }): Promise<string>;
  /**
   * Exchanges the code that the browser returned with.
   * @throws {ApiError} INVALID_CREDENTIALS when the code is wrong; INVALID_PROVIDER_CONFIG; SERVICE_UNAVAILABLE
   */
  exchange(endpoints: Endpoints, login: { code: string; verifier: string }): Promise<Tokens>;
}

interface Dependencies {
  config: ProviderConfig;
  callbackUri: string;
  /** Milliseconds. */
  timeout: number;
  observe: Observe;
}

/** The client that `@fastify/oauth2` provides as `oauth2`, which its types do not declare. */
interface Library {
  authorizeURL(parameters: Record<string, unknown>): string;
  getToken(parameters: Record<string, string>): Promise<{ token: Record<string, unknown> }>;
}

export function createOAuthClient({ config, callbackUri, timeout, observe }: Dependencies): OAuthClient {
  const { key, CLIENT_ID: id, CLIENT_SECRET: secret, RESPONSE_MODE: responseMode } = config;
  const scope = config.SCOPE.trim().split(/\s+/);
  const usesPkce = config.PKCE === 'S256';
  const libraries = new WeakMap<Endpoints, Promise<Library>>();

  /**
   * The library for the current endpoints. The plugin is registered on a separate app, which serves no requests, because the endpoints
   * become known only after the main app has started.
   */
  const load = async ({ authorize, token, tokenAuthMethod }: Endpoints): Promise<Library> => {
    const [authorizeUrl, tokenUrl] = [new URL(authorize), new URL(token)];
    const { default: oauth2 } = await import('@fastify/oauth2');
    const host = fastify();
    await host.register(oauth2, {
      name: 'provider',
      scope,
      callbackUri,
      userAgent: requestHeaders['user-agent'],
      credentials: {
        client: { id, secret },
        auth: {
          authorizeHost: authorizeUrl.origin,
          authorizePath: authorizeUrl.pathname + authorizeUrl.search,
          tokenHost: tokenUrl.origin,
          tokenPath: tokenUrl.pathname + tokenUrl.search,
        },
        options: { authorizationMethod: tokenAuthMethod === 'client_secret_basic' ? 'header' : 'body' },
        // The library has its own HTTP client. It follows no redirects, and `timeout` limits both the wait for a response and the time
        // to read it. Some providers declare another content type than that of the content, so only the content is considered.
        http: { timeout, maxBytes: maxResponseBytes, json: 'force' },
      },
    });
    await host.ready();
    return (host as unknown as { provider: { oauth2: Library } }).provider.oauth2;
  };

  const libraryFor = (endpoints: Endpoints): Promise<Library> => {
    const library = libraries.get(endpoints) ?? load(endpoints);
    libraries.set(endpoints, library);
    return library;
  };

  return {
    authorizationUrl: async (endpoints, { state, challenge, nonce }) => {
      const parameters = {
        ...Object.fromEntries(config.PARAMS),
        redirect_uri: callbackUri,
        scope,
        state,
        ...(usesPkce && { code_challenge: challenge, code_challenge_method: 'S256' }),
        ...(endpoints.openid && { nonce }),
        ...(responseMode === 'query' ? {} : { response_mode: responseMode }),
      };
      return (await libraryFor(endpoints)).authorizeURL(parameters);
    },

    exchange: async (endpoints, { code, verifier }) => {
      const library = await libraryFor(endpoints);
      const { status, set } = await observe(requestOf('POST', endpoints.token), () =>
        library
          .getToken({ code, redirect_uri: callbackUri, ...(usesPkce && { code_verifier: verifier }) })
          .then(({ token }) => ({ status: 200, set: token }), readFailure),
      ).catch((error: unknown) => {
        throw providerDown(key, error);
      });
      const { access_token, id_token } = set;
      if (status < 300 && typeof access_token === 'string' && access_token !== '') return { access_token, id_token };
      throw failureOf(key, status, set, [secret, code, verifier]);
    },
  };
}

/** The error of the library's HTTP client for an unsuccessful response, or for one that is not JSON. */
interface ResponseError {
  data?: { payload?: unknown; res?: { statusCode?: number } };
}

/** Reads a response that is an error, or a form, which some providers return. Any other error is thrown again. */
function readFailure(error: unknown): { status: number; set: Record<string, unknown> } {
  const { payload, res } = (error as ResponseError).data ?? {};
  if (res?.statusCode === undefined) throw error;
  const text = Buffer.isBuffer(payload) ? payload.toString().trim() : '';
  const form = /^[\w.-]+=/.test(text) ? Object.fromEntries(new URLSearchParams(text)) : {};
  return { status: res.statusCode, set: isObject(payload) && text === '' ? payload : form };
}

/**
 * Errors of the token endpoint that are the fault of the configuration, not of the user (RFC 6749, 5.2), followed by those of GitHub,
 * Slack, and Facebook.
 */
const ourFaults = new Set([
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
  'invalid_client_id',
  'bad_client_secret',
  'bad_redirect_uri',
  'OAuthException 1',
  'OAuthException 101',
]);

/** Why there is no token, as an API error. GitHub and Slack return errors with status 200, and Facebook returns them as objects. */
function failureOf(
  key: string,
  status: number,
  { error, error_description }: Record<string, unknown>,
  secrets: readonly string[],
): ApiError {
  const reason = isObject(error) ? `${error.type} ${error.code}` : error;
  const description = isObject(error) ? error.message : error_description;
  if (typeof reason !== 'string') {
    return providerDown(key, `The token endpoint returned status ${status} without an access token or an error.`);
  }
  const details = [reason, description].map((text) => quoted(text, secrets)).filter(Boolean);
  const cause = `The token endpoint returned status ${status} and the error ${details.join(': ')}`;
  if (ourFaults.has(reason)) return misconfigured(key, cause);
  return [200, 400, 401, 403].includes(status) ? refused(cause) : providerDown(key, cause);
}
