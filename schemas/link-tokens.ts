import { type Static, Type } from '@sinclair/typebox';

/** The purposes of links in emails. */
export const LinkTokenScope = Type.Union([
  Type.Literal('invite'),
  Type.Literal('pending-registration'),
  Type.Literal('password-reset'),
  Type.Literal('email-change'),
  Type.Literal('email-change-cancel'),
  Type.Literal('not-me'),
]);
export type LinkTokenScope = Static<typeof LinkTokenScope>;

/** The claims of a token in a link. Emails show links, so the token has only the claims that it needs, in their shortest form. */
export const LinkTokenClaims = Type.Object({
  sub: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$', description: 'The id of the user: its 16 bytes in base64url.' }),
  scope: LinkTokenScope,
  exp: Type.Integer(),
  st: Type.String({ description: 'A fingerprint of the state that the link is bound to.' }),
  jti: Type.Optional(Type.String({ description: 'Distinguishes links that are bound to the same state.' })),
});

/** The claims of a token from a build before the shorter form, whose links remain valid. */
export const LongLinkTokenClaims = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The id of the user.' }),
  scope: LinkTokenScope,
  state: Type.String({ description: 'A fingerprint of the state that the link is bound to.' }),
  iat: Type.Integer(),
  exp: Type.Integer(),
  iss: Type.String(),
});

/** A token as clients send it back. It has no maximum length, so overlong tokens get the same error as forged ones. */
export const LinkToken = (description: string) => Type.String({ minLength: 1, description });

/** An example of a link token. */
export const exampleLinkToken = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzY29wZSI6Imludml0ZSJ9.c2lnbmF0dXJl';
