import type { JWT } from '@fastify/jwt';
import { Value } from '@sinclair/typebox/value';
import { ApiError } from '../../schemas/errors.js';
import { AccessTokenClaims } from '../../schemas/sessions.js';
import type { Clock } from '../clock.js';

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

const seconds = (moment: Date) => Math.floor(moment.getTime() / 1000);

/** Access tokens are JWTs, HS256 (RFC 7519, RFC 8725; contract 1.2). */
export function createAccessTokens({ jwt, clock, issuer }: { jwt: JWT; clock: Clock; issuer: string }): AccessTokens {
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
      const claims = verified(jwt, token);
      if (claims.exp <= seconds(clock())) throw new ApiError('TOKEN_EXPIRED');
      return claims;
    },
  };
}

function verified(jwt: JWT, token: string): AccessTokenClaims {
  let claims: unknown;
  try {
    claims = jwt.verify<object>(token);
  } catch {
    throw new ApiError('INVALID_TOKEN');
  }
  // Base64url leaves room for several spellings of the same bytes; only the one that we write is ours.
  const isCanonical = token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
  if (!isCanonical || !Value.Check(AccessTokenClaims, claims)) throw new ApiError('INVALID_TOKEN');
  return claims;
}
