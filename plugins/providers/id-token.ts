import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { ApiError } from '../../schemas/errors.js';
import type { ProviderConfig } from '../../schemas/provider-config.js';
import type { Clock } from '../platform/clock.js';
import type { Fetch } from '../platform/http-client.js';
import type { OpenIdEndpoints } from './endpoints.js';
import { providerDown, refused } from './failures.js';

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

/** The JSON Web Tokens of an OpenID provider. */
export interface IdTokens {
  /**
   * Verifies an ID token (OpenID Connect Core 1.0, 3.1.3.7) and returns its claims. Checks signature, issuer, audience, times, nonce.
   * @throws {ApiError} INVALID_CREDENTIALS; SERVICE_UNAVAILABLE when the keys cannot be fetched
   */
  verify(token: unknown, nonce: string, endpoints: OpenIdEndpoints): Promise<JWTPayload>;
  /**
   * Verifies a signed profile (OpenID Connect Core 1.0, 5.3.2) and returns its claims. Checks signature, issuer, and audience.
   * @throws {ApiError} INVALID_CREDENTIALS; SERVICE_UNAVAILABLE when the keys cannot be fetched
   */
  verifyProfile(token: string, endpoints: OpenIdEndpoints): Promise<JWTPayload>;
}

export function createIdTokens({
  config: { key, CLIENT_ID: clientId, NONCE: nonceRule },
  fetchFrom,
  clock,
}: {
  config: ProviderConfig;
  fetchFrom: Fetch;
  clock: Clock;
}): IdTokens {
  let keys: { url: string; find: ReturnType<typeof createRemoteJWKSet> } | undefined;

  const keysAt = (url: string) => {
    if (keys?.url !== url) {
      const find = createRemoteJWKSet(new URL(url), {
        [customFetch]: (from, { headers, signal }) => fetchFrom(from, { headers, signal }),
        // The provider may have just changed its keys. Attackers cannot cause requests here, because only the provider sends tokens.
        cooldownDuration: 0,
      });
      keys = { url, find };
    }
    return keys.find;
  };

  /** The issuer that a key belongs to. Microsoft publishes the keys of several issuers together. */
  const issuerOfKey = ({ kid }: JWTHeaderParameters): unknown => {
    const published: readonly (JWK & { issuer?: unknown })[] = keys?.find.jwks()?.keys ?? [];
    return published.find((one) => kid !== undefined && one.kid === kid)?.issuer;
  };

  const read = async (
    token: string,
    { issuer, jwks }: OpenIdEndpoints,
    options: JWTVerifyOptions,
  ): Promise<JWTPayload> => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keysAt(jwks), {
        ...options,
        algorithms,
        audience: clientId,
        clockTolerance: tolerance,
        currentDate: clock(),
      });
      if (!issuer.matches(payload.iss, payload.tid)) throw refused(`The token was not issued by ${issuer.name}.`);
      const ofKey = issuerOfKey(protectedHeader);
      if (typeof ofKey === 'string' && ofKey.replace('{tenantid}', String(payload.tid)) !== payload.iss) {
        throw refused('The token is signed with the key of another issuer.');
      }
      return payload;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw isRefusal(error) ? refused(error) : providerDown(key, error);
    }
  };

  /** LinkedIn does not repeat the nonce. A nonce of another login is never accepted. */
  const isNonceValid = (given: unknown, nonce: string) =>
    given === nonce || (given === undefined && nonceRule === 'optional');

  return {
    verify: async (token, nonce, endpoints) => {
      if (typeof token !== 'string') throw refused('The response contains no ID token.');
      const requiredClaims = ['iss', 'sub', 'aud', 'exp', 'iat'];
      const claims = await read(token, endpoints, { requiredClaims, maxTokenAge });
      const { aud, azp } = claims;
      const isOurs = azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId;
      if (!isOurs) throw refused('The ID token is for another client.');
      if (isNonceValid(claims.nonce, nonce)) return claims;
      throw refused(
        claims.nonce === undefined
          ? 'The ID token contains no nonce. If this provider does not support nonces, set NONCE to optional.'
          : 'The ID token belongs to another login: the nonce does not match.',
      );
    },

    verifyProfile: (token, endpoints) => read(token, endpoints, { requiredClaims: ['iss', 'sub', 'aud'] }),
  };
}

/** Whether the token is invalid, as opposed to an error while fetching the keys. */
function isRefusal(error: unknown): boolean {
  const { JWKSTimeout, JWKSInvalid, JOSEError } = errors;
  const isOfKeys = error instanceof JWKSTimeout || error instanceof JWKSInvalid;
  // The response with the keys had a status other than 200, or was not JSON.
  const isGeneric = error instanceof JOSEError && error.code === 'ERR_JOSE_GENERIC';
  return error instanceof JOSEError && !isOfKeys && !isGeneric;
}
