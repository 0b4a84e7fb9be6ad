import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose';
import { ApiError } from '../../schemas/errors.js';
import type { Clock } from '../platform/clock.js';
import { issuerPattern, type OpenIdEndpoints } from './endpoints.js';
import { type Fetch, providerDown } from './http.js';

/** Only algorithms with public keys: with a shared secret, anyone who knows the secret could sign a token. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Maximum difference between the two clocks, in seconds. */
const tolerance = 60;
/** Maximum age of a token in seconds. An older token cannot belong to the current login. */
const maxTokenAge = 600;

export interface IdTokens {
  /**
   * Verifies an ID token (OpenID Connect Core 1.0, 3.1.3.7) and returns its claims. Checks signature, issuer, audience, times, nonce.
   * @throws {ApiError} INVALID_CREDENTIALS; SERVICE_UNAVAILABLE when the keys cannot be fetched
   */
  verify(token: unknown, nonce: string, endpoints: OpenIdEndpoints): Promise<JWTPayload>;
}

export function createIdTokens(deps: { key: string; clientId: string; fetchFrom: Fetch; clock: Clock }): IdTokens {
  const { key, clientId, fetchFrom, clock } = deps;
  let keys: { url: string; find: ReturnType<typeof createRemoteJWKSet> } | undefined;

  const keysAt = (url: string) => {
    if (keys?.url !== url) {
      const find = createRemoteJWKSet(new URL(url), {
        [customFetch]: (from, init) => fetchFrom(from, init as RequestInit),
        // The provider may have just changed its keys. Attackers cannot cause requests here, because only the provider sends tokens.
        cooldownDuration: 0,
      });
      keys = { url, find };
    }
    return keys.find;
  };

  const read = async (token: string, { issuer, jwks }: OpenIdEndpoints): Promise<JWTPayload> => {
    try {
      const { payload } = await jwtVerify(token, keysAt(jwks), {
        algorithms,
        audience: clientId,
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'nonce'],
        clockTolerance: tolerance,
        maxTokenAge,
        currentDate: clock(),
      });
      // A list with a single issuer is rejected, although it looks like that issuer when converted to a string.
      const isIssuer = typeof payload.iss === 'string' && issuerOf(payload, issuer).test(payload.iss);
      return isIssuer ? payload : refuse(`The ID token was not issued by ${issuer}.`);
    } catch (error) {
      throw isRefusal(error) ? refusal(error) : providerDown(key, error);
    }
  };

  return {
    verify: async (token, nonce, endpoints) => {
      if (typeof token !== 'string') return refuse('The response contains no ID token.');
      const claims = await read(token, endpoints);
      const { aud, azp } = claims;
      const isOurs = azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId;
      if (!isOurs) return refuse('The ID token is for another client.');
      return claims.nonce === nonce
        ? claims
        : refuse('The ID token belongs to another login: the nonce does not match.');
    },
  };
}

/** The response is the same for every cause. The log contains the cause. */
function refusal(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  const error = new ApiError('INVALID_CREDENTIALS');
  error.cause = cause;
  return error;
}

const refuse = (why: string): never => {
  throw refusal(new Error(why));
};

/** A provider for many organizations has a separate issuer for each one. This is the issuer of the user's organization. */
function issuerOf({ tid }: JWTPayload, issuer: string): RegExp {
  const tenant = typeof tid === 'string' && /^[0-9a-f-]{36}$/i.test(tid) ? tid : '(?!)';
  return issuerPattern(issuer, tenant);
}

/** Whether the token is invalid, as opposed to an error while fetching the keys. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ApiError) return true;
  const { JWKSTimeout, JWKSInvalid, JOSEError } = errors;
  const isOfKeys = error instanceof JWKSTimeout || error instanceof JWKSInvalid;
  // The response with the keys had a status other than 200, or was not JSON.
  const isGeneric = error instanceof JOSEError && error.code === 'ERR_JOSE_GENERIC';
  return error instanceof JOSEError && !isOfKeys && !isGeneric;
}
