import { type Static, Type } from '@sinclair/typebox';

/** What the links in mails are for (contract 6.1). */
export const LinkTokenScope = Type.Union([
  Type.Literal('invite'),
  Type.Literal('pending-registration'),
  Type.Literal('password-reset'),
]);
export type LinkTokenScope = Static<typeof LinkTokenScope>;

/** The claims of a token in a link. */
export const LinkTokenClaims = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The id of the user.' }),
  scope: LinkTokenScope,
  state: Type.String({ description: 'Fingerprint of what the link goes with.' }),
  iat: Type.Integer(),
  exp: Type.Integer(),
  iss: Type.String(),
});
export type LinkTokenClaims = Static<typeof LinkTokenClaims>;

/** How a token comes back. Longer ones than we make are no reason to be told apart from forged ones. */
export const LinkToken = (description: string) => Type.String({ minLength: 1, description });

/** What one looks like. */
export const exampleLinkToken = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzY29wZSI6Imludml0ZSJ9.c2lnbmF0dXJl';
