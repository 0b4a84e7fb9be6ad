import { TypeCompiler } from '@sinclair/typebox/compiler';
import { createDecoder } from 'fast-jwt';
import { createBoundedCache } from '../../db/bounded-cache.js';
import { ApiError } from '../../schemas/errors.js';
import { AccessTokenClaims } from '../../schemas/sessions.js';
import { toNumericDate } from '../platform/clock.js';
import { linkTokenType } from './jwt.js';
import { type Signing, type Verifier, verifiersOf, verifySigned } from './signed.js';
import type { SigningKeys } from './signing-keys/service.js';

export interface AccessTokens {
  /** Signs an access token that is valid from now until `expiresAt`. */
  issue(claims: Omit<AccessTokenClaims, 'iat' | 'exp' | 'iss' | 'aud'>, expiresAt: Date): string;
  /**
   * Verifies a token: signature, algorithm, type, issuer, shape of the claims, and finally the expiry.
   * @returns undefined, without any verification, if it is not a JWT of this service
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED
   */
  verify(token: string): Promise<AccessTokenClaims | undefined>;
}

/** The format of a key ID. Other values are not looked up. */
const kidPattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * Maximum number of tokens whose claims are cached. A token is presented many times, and verifying its signature takes an eighth of the
 * processor time of a short request. Only tokens with a valid signature are cached, about a kilobyte each.
 */
const maxVerified = 2_000;

const decode = createDecoder({ complete: true });

const isAccessToken = TypeCompiler.Compile(AccessTokenClaims);

/**
 * Access tokens are JWTs (RFC 7519, RFC 8725). Tokens with a `kid` are signed with that key pair. Tokens without one are signed
 * with the key derived from SECRET (HS256). No other part of a token affects how it is verified.
 * @param signing.issuer a JWT with another issuer is not treated as a JWT
 * @param signing.audience undefined: tokens name no audience
 */
export function createAccessTokens(
  signing: Signing & { keys: Pick<SigningKeys, 'signer' | 'find'>; issuer: string; audience?: string | undefined },
): AccessTokens {
  const { jwt, keys, clock, issuer, audience } = signing;
  const ownVerifiers = verifiersOf(signing);
  /** The claims of tokens whose signature, type, and shape have been verified. */
  const verified = createBoundedCache<Readonly<AccessTokenClaims>>(maxVerified);

  /** Tokens in links name no issuer, because links are short. Their type shows whose they are. */
  const isOwn = (unverified: { issuer: unknown; typ: unknown }) =>
    unverified.issuer === issuer || unverified.typ === linkTokenType;

  const verifiersFor = async (kid: unknown): Promise<readonly Verifier[]> => {
    if (kid === undefined) return ownVerifiers;
    const key = typeof kid === 'string' && kidPattern.test(kid) ? await keys.find(kid) : undefined;
    return key ? [key.verify] : [];
  };

  return {
    issue: (claims, expiresAt) => {
      const times = { iat: toNumericDate(clock()), exp: toNumericDate(expiresAt) };
      const all = { ...claims, ...times, iss: issuer, ...(audience === undefined ? {} : { aud: audience }) };
      const key = keys.signer();
      return key ? key.sign(all) : jwt.sign(all);
    },

    verify: async (token) => {
      const unverified = read(token);
      if (unverified === undefined || !isOwn(unverified)) return undefined;
      const verifiers = await verifiersFor(unverified.kid);
      // The key of a cached token may have been removed since.
      if (verifiers.length === 0) throw new ApiError('INVALID_TOKEN');
      const claims = verified(token, () => verifySigned(token, isAccessToken, verifiers));
      if (claims.exp <= toNumericDate(clock())) throw new ApiError('TOKEN_EXPIRED');
      return claims;
    },
  };
}

/** The unverified issuer, type, and key ID of a JWT; undefined if the text is not a JWT. */
function read(token: string): { issuer: unknown; typ: unknown; kid: unknown } | undefined {
  if (token.split('.').length !== 3) return undefined;
  try {
    const { header, payload } = decode(token) as Record<'header' | 'payload', Record<string, unknown>>;
    return { issuer: payload.iss, typ: header.typ, kid: header.kid };
  } catch {
    return undefined;
  }
}
