import { createHash, randomBytes } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { ApiError } from '../../schemas/errors.js';
import { LinkTokenClaims, type LinkTokenScope, LongLinkTokenClaims } from '../../schemas/link-tokens.js';
import { toNumericDate } from '../platform/clock.js';
import { type Signing, verifiersOf, verifySigned } from './signed.js';

/** What a link in an email is bound to: a purpose, a user, and the state of the user when the link was created. */
export interface LinkSubject {
  scope: LinkTokenScope;
  userId: string;
  /** Values of the user. When one of them changes, the link becomes void. */
  state: readonly (string | null)[];
}

/** What a token from a link says. */
export interface LinkClaims {
  /** The id of the user. */
  id: string;
  scope: LinkTokenScope;
  /** A fingerprint of the state that the link is bound to. */
  state: string;
  expiresAt: Date;
}

export interface LinkTokens {
  /** Creates a token for a link. @param lifetime in milliseconds */
  issue(subject: LinkSubject, lifetime: number): string;
  /** The same for a link that works once although its use does not change the state that it is bound to (see {@link idOf}). */
  issueDistinct(subject: LinkSubject, lifetime: number): string;
  /**
   * Verifies a token from a link: signature, shape, expiry, scope.
   * @throws {ApiError} INVALID_TOKEN if it is forged or damaged; TOKEN_EXPIRED; FORBIDDEN if it has another scope
   */
  read(token: string, scope: LinkTokenScope): LinkClaims;
  /** The same for a token that may have expired, which proves only that its holder once got the link. */
  readExpired(token: string, scope: LinkTokenScope): LinkClaims;
  /** Whether a token was issued for this state. False once the token has been used or the user has changed. */
  matchesState(claims: LinkClaims, state: LinkSubject['state']): boolean;
  /** Identifies a verified token, to record that it was used. */
  idOf(token: string): string;
}

const linkTokenForm = TypeCompiler.Compile(Type.Union([LinkTokenClaims, LongLinkTokenClaims]));

/** Characters of base64url: 96 bits, so that no two states of a user ever have the same fingerprint. */
const fingerprintLength = 16;

/** A hash of a state, which does not reveal its values. */
const fingerprint = (state: LinkSubject['state']): string =>
  createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, fingerprintLength);

const toShort = (uuid: string): string => Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');
const toUuid = (short: string): string =>
  Buffer.from(short, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/**
 * Tokens in links are JWTs with their own key and `typ`, bound to a purpose, a user and a state. They need no row in the database,
 * because using a token changes the state that it is bound to.
 */
export function createLinkTokens(signing: Signing): LinkTokens {
  const { jwt, clock } = signing;
  const verifiers = verifiersOf(signing);

  const verify = (token: string): LinkClaims => {
    const claims = verifySigned(token, linkTokenForm, verifiers);
    const expiresAt = new Date(claims.exp * 1000);
    return 'sub' in claims
      ? { id: toUuid(claims.sub), scope: claims.scope, state: claims.st, expiresAt }
      : { id: claims.id, scope: claims.scope, state: claims.state.slice(0, fingerprintLength), expiresAt };
  };
  const requireScope = (claims: LinkClaims, scope: LinkTokenScope) => {
    if (claims.scope !== scope) throw new ApiError('FORBIDDEN');
    return claims;
  };
  const issue = ({ scope, userId, state }: LinkSubject, lifetime: number, more: { jti?: string } = {}) => {
    const exp = toNumericDate(new Date(clock().getTime() + lifetime));
    return jwt.sign({ sub: toShort(userId), scope, exp, st: fingerprint(state), ...more }, { noTimestamp: true });
  };

  return {
    readExpired: (token, scope) => requireScope(verify(token), scope),

    issue: (subject, lifetime) => issue(subject, lifetime),
    issueDistinct: (subject, lifetime) => issue(subject, lifetime, { jti: randomBytes(6).toString('base64url') }),

    read: (token, scope) => {
      const claims = verify(token);
      if (claims.expiresAt <= clock()) throw new ApiError('TOKEN_EXPIRED');
      return requireScope(claims, scope);
    },

    matchesState: (claims, state) => claims.state === fingerprint(state),

    idOf: (token) => createHash('sha256').update(token).digest('hex'),
  };
}
