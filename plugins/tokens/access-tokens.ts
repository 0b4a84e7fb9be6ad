import { ApiError } from '../../schemas/errors.js';
import { AccessTokenClaims } from '../../schemas/sessions.js';
import { type Signing, seconds, verifySigned } from './signed.js';

export interface AccessTokens {
  /** Signs an access token that is valid from now until `expiresAt`. */
  issue(claims: Omit<AccessTokenClaims, 'iat' | 'exp' | 'iss'>, expiresAt: Date): string;
  /** Whether this looks like a JWT that says it is ours. Nothing is verified yet. */
  isOurs(token: string): boolean;
  /**
   * Verifies a token: signature, algorithm, type, issuer, form of the claims, and last of all the time.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED
   */
  verify(token: string): AccessTokenClaims;
}

/** Access tokens are JWTs, HS256 (RFC 7519, RFC 8725; contract 1.2). */
export function createAccessTokens({ jwt, previousKeys, clock, issuer }: Signing): AccessTokens {
  return {
    issue: (claims, expiresAt) => jwt.sign({ ...claims, iat: seconds(clock()), exp: seconds(expiresAt), iss: issuer }),

    isOurs: (token) => {
      if (token.split('.').length !== 3) return false;
      try {
        return jwt.decode<{ iss?: unknown }>(token)?.iss === issuer;
      } catch {
        return false;
      }
    },

    verify: (token) => {
      const claims = verifySigned(jwt, token, AccessTokenClaims, previousKeys);
      if (claims.exp <= seconds(clock())) throw new ApiError('TOKEN_EXPIRED');
      return claims;
    },
  };
}
