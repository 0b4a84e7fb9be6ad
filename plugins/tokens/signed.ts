import type { JWT } from '@fastify/jwt';
import type { Static, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ApiError } from '../../schemas/errors.js';
import type { Clock } from '../clock.js';

export type Signer = Pick<JWT, 'sign' | 'verify' | 'decode'>;

/** What tokens of any kind are signed and verified with. */
export interface Signing {
  jwt: Signer;
  /** Keys besides that of `jwt` whose signatures are still accepted. */
  previousKeys?: readonly Buffer[];
  clock: Clock;
  issuer: string;
}

/** Seconds since 1970, as JWTs count (RFC 7519, NumericDate). */
export const seconds = (moment: Date): number => Math.floor(moment.getTime() / 1000);

/**
 * The claims of a token that we signed: signature, algorithm, type, issuer and form are verified, the time is not.
 * @param previousKeys keys besides the signer's own whose signatures are still accepted
 * @throws {ApiError} INVALID_TOKEN
 */
export function verifySigned<Claims extends TSchema>(
  jwt: Signer,
  token: string,
  schema: Claims,
  previousKeys: readonly Buffer[] = [],
): Static<Claims> {
  const claims = claimsOf(jwt, token, previousKeys);
  // Base64url leaves room for several spellings of the same bytes; only the one that we write is ours.
  const isCanonical = token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
  if (!isCanonical || !Value.Check(schema, claims)) throw new ApiError('INVALID_TOKEN');
  return claims;
}

/** The claims, when one of the keys vouches for them; all else that is asked of a token is asked with each of them. */
function claimsOf(jwt: Signer, token: string, previousKeys: readonly Buffer[]): unknown {
  for (const key of [undefined, ...previousKeys]) {
    try {
      return key ? jwt.verify<object>(token, { key }) : jwt.verify<object>(token);
    } catch {
      // Another key may be the one.
    }
  }
  throw new ApiError('INVALID_TOKEN');
}
