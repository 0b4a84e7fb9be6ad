import type { JWT } from '@fastify/jwt';
import type { Static, TSchema } from '@sinclair/typebox';
import type { TypeCheck } from '@sinclair/typebox/compiler';
import { ApiError } from '../../schemas/errors.js';
import type { Clock } from '../platform/clock.js';

/** The parameters for signing and verifying tokens of any kind. */
export interface Signing {
  jwt: Pick<JWT, 'sign' | 'verify' | 'decode'>;
  /** Previous keys, whose signatures are still accepted in addition to the key of `jwt`. */
  previousKeys?: readonly Buffer[];
  clock: Clock;
}

/** Verifies the signature, algorithm, and type of a token with one key. @returns its claims @throws if the token is invalid */
export type Verifier = (token: string) => unknown;

/** The verifiers for the key from SECRET and for the previous keys. */
export function verifiersOf({ jwt, previousKeys = [] }: Pick<Signing, 'jwt' | 'previousKeys'>): Verifier[] {
  const others = previousKeys.map(
    (key): Verifier =>
      (token) =>
        jwt.verify<object>(token, { key }),
  );
  return [(token) => jwt.verify<object>(token), ...others];
}

/**
 * Verifies a token with each of the keys, and checks the shape of its claims, but not its expiry.
 * @throws {ApiError} INVALID_TOKEN
 */
export function verifySigned<Claims extends TSchema>(
  token: string,
  form: TypeCheck<Claims>,
  verifiers: readonly Verifier[],
): Static<Claims> {
  const claims = claimsOf(token, verifiers);
  // In base64url, several texts can encode the same bytes. Only the canonical one is accepted.
  const isCanonical = token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
  if (!isCanonical || !form.Check(claims)) throw new ApiError('INVALID_TOKEN');
  return claims;
}

/** The claims of a token, as read with the first key that verifies it. */
function claimsOf(token: string, verifiers: readonly Verifier[]): unknown {
  for (const verify of verifiers) {
    try {
      return verify(token);
    } catch {
      // Another key may match.
    }
  }
  throw new ApiError('INVALID_TOKEN');
}
