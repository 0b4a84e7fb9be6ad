import type { JWT } from '@fastify/jwt';
import type { Static, TSchema } from '@sinclair/typebox';
import type { TypeCheck } from '@sinclair/typebox/compiler';
import { ApiError } from '../../schemas/errors.js';
import type { Clock } from '../platform/clock.js';

/** What tokens of any kind are signed and verified with. */
export interface Signing {
  jwt: Pick<JWT, 'sign' | 'verify' | 'decode'>;
  /** Keys besides that of `jwt` whose signatures are still accepted. */
  previousKeys?: readonly Buffer[];
  clock: Clock;
  issuer: string;
}

/** Vouches for a token with one key: signature, algorithm, type and issuer. @returns its claims; @throws when it cannot */
export type Verifier = (token: string) => unknown;

/** Seconds since 1970, as JWTs count (RFC 7519, NumericDate). */
export const seconds = (moment: Date): number => Math.floor(moment.getTime() / 1000);

/** Those of the keys made from SECRET and the previous ones. */
export function verifiersOf({ jwt, previousKeys = [] }: Pick<Signing, 'jwt' | 'previousKeys'>): Verifier[] {
  const others = previousKeys.map(
    (key): Verifier =>
      (token) =>
        jwt.verify<object>(token, { key }),
  );
  return [(token) => jwt.verify<object>(token), ...others];
}

/**
 * The claims of a token that we signed, when one of the keys vouches for it; their form is verified, the time is not.
 * @throws {ApiError} INVALID_TOKEN
 */
export function verifySigned<Claims extends TSchema>(
  token: string,
  form: TypeCheck<Claims>,
  verifiers: readonly Verifier[],
): Static<Claims> {
  const claims = claimsOf(token, verifiers);
  // Base64url leaves room for several spellings of the same bytes; only the one that we write is ours.
  const isCanonical = token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
  if (!isCanonical || !form.Check(claims)) throw new ApiError('INVALID_TOKEN');
  return claims;
}

/** All that is asked of a token is asked with each of the keys. */
function claimsOf(token: string, verifiers: readonly Verifier[]): unknown {
  for (const verify of verifiers) {
    try {
      return verify(token);
    } catch {
      // Another key may be the one.
    }
  }
  throw new ApiError('INVALID_TOKEN');
}
