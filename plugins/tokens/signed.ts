import type { JWT } from '@fastify/jwt';
import type { Static, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ApiError } from '../../schemas/errors.js';

export type Signer = Pick<JWT, 'sign' | 'verify' | 'decode'>;

/** Seconds since 1970, as JWTs count (RFC 7519, NumericDate). */
export const seconds = (moment: Date): number => Math.floor(moment.getTime() / 1000);

/**
 * The claims of a token that we signed: signature, algorithm, type, issuer and form are verified, the time is not.
 * @throws {ApiError} INVALID_TOKEN
 */
export function verifySigned<Claims extends TSchema>(jwt: Signer, token: string, schema: Claims): Static<Claims> {
  let claims: unknown;
  try {
    claims = jwt.verify<object>(token);
  } catch {
    throw new ApiError('INVALID_TOKEN');
  }
  // Base64url leaves room for several spellings of the same bytes; only the one that we write is ours.
  const isCanonical = token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
  if (!isCanonical || !Value.Check(schema, claims)) throw new ApiError('INVALID_TOKEN');
  return claims;
}
