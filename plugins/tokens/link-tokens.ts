import { createHash } from 'node:crypto';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { ApiError } from '../../schemas/errors.js';
import { LinkTokenClaims, type LinkTokenScope } from '../../schemas/link-tokens.js';
import { type Signing, seconds, verifiersOf, verifySigned } from './signed.js';

/** What a link in a mail is made for: this, of this user, as they were then. */
export interface LinkSubject {
  scope: LinkTokenScope;
  userId: string;
  /** What of the user the link goes with; when any of it changes, the link is worth nothing. */
  state: readonly (string | null)[];
}

export interface LinkTokens {
  /** A token to put into a link. @param lifetime in milliseconds */
  issue(subject: LinkSubject, lifetime: number): string;
  /**
   * Verifies a token that came back: signature, form, time, scope.
   * @throws {ApiError} INVALID_TOKEN when it is forged or mangled; TOKEN_EXPIRED; FORBIDDEN when it is for something else
   */
  read(token: string, scope: LinkTokenScope): LinkTokenClaims;
  /** Whether a token was made for this state: false once it was used, or was overtaken by a change. */
  isFor(claims: LinkTokenClaims, state: LinkSubject['state']): boolean;
}

const isLinkToken = TypeCompiler.Compile(LinkTokenClaims);

/** A fingerprint of a state: what it is made of can't be read from it. */
const fingerprint = (state: LinkSubject['state']): string =>
  createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 22);

/**
 * Tokens in links are JWTs with a key and a `typ` of their own, bound to a purpose, a user and a state. They need no row:
 * what uses one up changes the state that it is bound to.
 */
export function createLinkTokens(signing: Signing): LinkTokens {
  const { jwt, clock, issuer } = signing;
  const verifiers = verifiersOf(signing);

  return {
    issue: ({ scope, userId, state }, lifetime) => {
      const now = clock().getTime();
      const times = { iat: seconds(new Date(now)), exp: seconds(new Date(now + lifetime)) };
      return jwt.sign({ id: userId, scope, state: fingerprint(state), ...times, iss: issuer });
    },

    read: (token, scope) => {
      const claims = verifySigned(token, isLinkToken, verifiers);
      if (claims.exp <= seconds(clock())) throw new ApiError('TOKEN_EXPIRED');
      if (claims.scope !== scope) throw new ApiError('FORBIDDEN');
      return claims;
    },

    isFor: (claims, state) => claims.state === fingerprint(state),
  };
}
