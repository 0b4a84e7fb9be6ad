import { createHash } from 'node:crypto';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { ApiError } from '../../schemas/errors.js';
import { LinkTokenClaims, type LinkTokenScope } from '../../schemas/link-tokens.js';
import { toNumericDate } from '../platform/clock.js';
import { type Signing, verifiersOf, verifySigned } from './signed.js';

/** What a link in an email is bound to: a purpose, a user, and the state of the user when the link was created. */
export interface LinkSubject {
  scope: LinkTokenScope;
  userId: string;
  /** Values of the user. When one of them changes, the link becomes void. */
  state: readonly (string | null)[];
}

export interface LinkTokens {
  /** Creates a token for a link. @param lifetime in milliseconds */
  issue(subject: LinkSubject, lifetime: number): string;
  /**
   * Verifies a token from a link: signature, shape, expiry, scope.
   * @throws {ApiError} INVALID_TOKEN if it is forged or damaged; TOKEN_EXPIRED; FORBIDDEN if it has another scope
   */
  read(token: string, scope: LinkTokenScope): LinkTokenClaims;
  /** The same for a token that may have expired, which proves only that its holder once got the link. */
  readExpired(token: string, scope: LinkTokenScope): LinkTokenClaims;
  /** Whether a token was issued for this state. False once the token has been used or the user has changed. */
  matchesState(claims: LinkTokenClaims, state: LinkSubject['state']): boolean;
}

const isLinkToken = TypeCompiler.Compile(LinkTokenClaims);

/** A hash of a state, which does not reveal its values. */
const fingerprint = (state: LinkSubject['state']): string =>
  createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 22);

/**
 * Tokens in links are JWTs with their own key and `typ`, bound to a purpose, a user and a state. They need no row in the database,
 * because using a token changes the state that it is bound to.
 */
export function createLinkTokens(signing: Signing): LinkTokens {
  const { jwt, clock, issuer } = signing;
  const verifiers = verifiersOf(signing);

  const verify = (token: string) => verifySigned(token, isLinkToken, verifiers);
  const requireScope = (claims: LinkTokenClaims, scope: LinkTokenScope) => {
    if (claims.scope !== scope) throw new ApiError('FORBIDDEN');
    return claims;
  };

  return {
    readExpired: (token, scope) => requireScope(verify(token), scope),

    issue: ({ scope, userId, state }, lifetime) => {
      const now = clock().getTime();
      const times = { iat: toNumericDate(new Date(now)), exp: toNumericDate(new Date(now + lifetime)) };
      return jwt.sign({ id: userId, scope, state: fingerprint(state), ...times, iss: issuer });
    },

    read: (token, scope) => {
      const claims = verify(token);
      if (claims.exp <= toNumericDate(clock())) throw new ApiError('TOKEN_EXPIRED');
      return requireScope(claims, scope);
    },

    matchesState: (claims, state) => claims.state === fingerprint(state),
  };
}
