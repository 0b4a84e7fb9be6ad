import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose';
import { ApiError } from '../../schemas/errors.js';
import type { Clock } from '../platform/clock.js';
import { issuerPattern, type OpenIdEndpoints } from './endpoints.js';
import { type Fetch, providerDown } from './http.js';

/** Public keys only: with a secret that both sides know, whoever has it could sign. */
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

/** Seconds that two clocks may differ. */
const tolerance = 60;
/** Seconds after which a token is of another login than the one that is under way. */
const oldest = 600;

export interface IdTokens {
  /**
   * The claims of an ID token, verified (OpenID Connect Core 1.0, 3.1.3.7): signature, issuer, audience, times, nonce.
   * @throws {ApiError} INVALID_CREDENTIALS; SERVICE_UNAVAILABLE when the keys cannot be had
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
        // The provider may have taken a new key a moment ago. Only it can make us ask: tokens come from nobody else.
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
        maxTokenAge: oldest,
        currentDate: clock(),
      });
      // A list of one issuer is none, though it reads like one.
      const isIssuer = typeof payload.iss === 'string' && issuerOf(payload, issuer).test(payload.iss);
      return isIssuer ? payload : refuse(`The ID token is of another issuer than ${issuer}.`);
    } catch (error) {
      throw isRefusal(error) ? refusal(error) : providerDown(key, error);
    }
  };

  return {
    verify: async (token, nonce, endpoints) => {
      if (typeof token !== 'string') return refuse('There is no ID token.');
      const claims = await read(token, endpoints);
      const { aud, azp } = claims;
      const isOurs = azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId;
      if (!isOurs) return refuse('The ID token is for another client.');
      return claims.nonce === nonce ? claims : refuse('The ID token is of another login: its nonce differs.');
    },
  };
}

/** What the client is told is the same whatever it was; the log has the cause. */
function refusal(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  const error = new ApiError('INVALID_CREDENTIALS');
  error.cause = cause;
  return error;
}

const refuse = (why: string): never => {
  throw refusal(new Error(why));
};

/** Of a provider for many organisations the issuer is that of the user's own. */
function issuerOf({ tid }: JWTPayload, issuer: string): RegExp {
  const tenant = typeof tid === 'string' && /^[0-9a-f-]{36}$/i.test(tid) ? tid : '(?!)';
  return issuerPattern(issuer, tenant);
}

/** Whether it is the token that is wrong, rather than the keys that could not be had. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ApiError) return true;
  const { JWKSTimeout, JWKSInvalid, JOSEError } = errors;
  const isOfKeys = error instanceof JWKSTimeout || error instanceof JWKSInvalid;
  // The keys were answered with another status than 200, or not in JSON.
  const isGeneric = error instanceof JOSEError && error.code === 'ERR_JOSE_GENERIC';
  return error instanceof JOSEError && !isOfKeys && !isGeneric;
}
