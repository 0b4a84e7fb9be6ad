import { isObject } from '../../schemas/common.js';
import type { ApiError } from '../../schemas/errors.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import type { Endpoints } from './endpoints.js';
import { misconfigured, providerDown, quoted, refused } from './failures.js';
import { type Fetch, requestHeaders } from './http.js';

export interface Tokens {
  access_token: string;
  id_token: unknown;
}

/** The authorization code flow with PKCE (RFC 6749, 4.1; RFC 7636, S256). */
export interface OAuthClient {
  /** The URL to send the browser to. */
  authorizationUrl(endpoints: Endpoints, login: { state: string; challenge: string; nonce: string }): string;
  /**
   * Exchanges the code that the browser returned with.
   * @throws {ApiError} INVALID_CREDENTIALS when the code is wrong; INVALID_PROVIDER_CONFIG; SERVICE_UNAVAILABLE
   */
  exchange(endpoints: Endpoints, login: { code: string; verifier: string }): Promise<Tokens>;
}

interface Dependencies {
  config: ProviderConfig;
  callbackUri: string;
  fetchFrom: Fetch;
}

export function createOAuthClient({ config, callbackUri, fetchFrom }: Dependencies): OAuthClient {
  const { key, CLIENT_ID: id, CLIENT_SECRET: secret, RESPONSE_MODE: responseMode } = config;

  return {
    authorizationUrl: ({ authorize, openid }, { state, challenge, nonce }) => {
      const url = new URL(authorize);
      const parameters = {
        ...Object.fromEntries(config.PARAMS),
        response_type: 'code',
        client_id: id,
        redirect_uri: callbackUri,
        scope: config.SCOPE.trim().replace(/\s+/g, ' '),
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...(openid && { nonce }),
        ...(responseMode === 'query' ? {} : { response_mode: responseMode }),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    },

    exchange: async ({ token, tokenAuthMethod }, { code, verifier }) => {
      const isBasic = tokenAuthMethod === 'client_secret_basic';
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: callbackUri,
        code_verifier: verifier,
        ...(isBasic ? {} : { client_id: id, client_secret: secret }),
      });
      const headers = isBasic ? { ...requestHeaders, authorization: basicCredentials(id, secret) } : requestHeaders;
      let status: number;
      let text: string;
      try {
        const response = await fetchFrom(token, { method: 'POST', headers, body });
        status = response.status;
        text = await response.text();
      } catch (error) {
        throw providerDown(key, error);
      }
      const set = parseTokens(text);
      const { access_token, id_token } = set;
      if (status < 300 && typeof access_token === 'string' && access_token !== '') return { access_token, id_token };
      throw failureOf(key, status, set, [secret, code, verifier]);
    },
  };
}

/** The credentials of the client, each encoded like a form field (RFC 6749, 2.3.1). */
function basicCredentials(id: string, secret: string): string {
  const encoded = [id, secret].map((part) => String(new URLSearchParams({ '': part })).slice(1));
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`;
}

/** Some providers return a form, and some declare another content type than that of the content, so only the content is considered. */
function parseTokens(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : {};
  } catch {
    return /^\s*[\w.-]+=/.test(text) ? Object.fromEntries(new URLSearchParams(text.trim())) : {};
  }
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
