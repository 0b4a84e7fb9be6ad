import { createDecoder } from 'fast-jwt';
import { ApiError } from '../../schemas/errors.js';
import { AccessTokenClaims } from '../../schemas/sessions.js';
import type { SigningKeys } from '../signing-keys/service.js';
import { type Signing, seconds, type Verifier, verifiersOf, verifySigned } from './signed.js';

export interface AccessTokens {
  /** Signs an access token that is valid from now until `expiresAt`. */
  issue(claims: Omit<AccessTokenClaims, 'iat' | 'exp' | 'iss'>, expiresAt: Date): string;
  /** Whether this looks like a JWT that says it is ours. Nothing is verified yet. */
  isOurs(token: string): boolean;
  /**
   * Verifies a token: signature, algorithm, type, issuer, form of the claims, and last of all the time.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED
   */
  verify(token: string): Promise<AccessTokenClaims>;
}

/** The id of a key: nothing else is looked for. */
const kidPattern = /^[A-Za-z0-9_-]{43}$/;

const decode = createDecoder({ complete: true });

/**
 * Access tokens are JWTs (RFC 7519, RFC 8725; contract 1.2). Those with a `kid` are signed by that one of the key pairs, those
 * without by the key made from SECRET (HS256). Nothing else that a token says of itself has a say in how it is verified.
 */
export function createAccessTokens(signing: Signing & { keys: Pick<SigningKeys, 'signer' | 'find'> }): AccessTokens {
  const { jwt, keys, clock, issuer } = signing;
  const ownVerifiers = verifiersOf(signing);

  const verifiersFor = async (token: string): Promise<readonly Verifier[]> => {
    const kid = kidOf(token);
    if (kid === undefined) return ownVerifiers;
    const key = typeof kid === 'string' && kidPattern.test(kid) ? await keys.find(kid) : undefined;
    return key ? [key.verify] : [];
  };

  return {
    issue: (claims, expiresAt) => {
      const all = { ...claims, iat: seconds(clock()), exp: seconds(expiresAt), iss: issuer };
      const key = keys.signer();
      return key ? key.sign(all) : jwt.sign(all);
    },

    isOurs: (token) => {
      if (token.split('.').length !== 3) return false;
      try {
        return jwt.decode<{ iss?: unknown }>(token)?.iss === issuer;
      } catch {
        return false;
      }
    },

    verify: async (token) => {
      const claims = verifySigned(token, AccessTokenClaims, await verifiersFor(token));
      if (claims.exp <= seconds(clock())) throw new ApiError('TOKEN_EXPIRED');
      return claims;
    },
  };
}

/** What a token names as its key; undefined when it names none. @throws {ApiError} INVALID_TOKEN */
function kidOf(token: string): unknown {
  try {
    const { header } = decode(token) as { header: Record<string, unknown> };
    return header.kid;
  } catch {
    throw new ApiError('INVALID_TOKEN');
  }
}
