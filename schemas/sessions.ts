import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Email, named } from './common.js';

export const SessionMode = Type.Union([Type.Literal('json'), Type.Literal('cookie'), Type.Literal('session')], {
  description:
    'Where the credentials travel. `json`: both tokens in the body. `cookie`: the refresh token in an httpOnly cookie. `session`: one httpOnly cookie that holds the access token.',
});
export type SessionMode = Static<typeof SessionMode>;

export const LoginBody = named(
  'LoginBody',
  Type.Object(
    {
      email: Email('The e-mail address of the user, in any letter case.'),
      password: Type.String({ minLength: 1, description: 'The password of the user.' }),
      mode: Type.Optional({ ...SessionMode, default: 'json' }),
      otp: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'The one-time password, or a recovery code; needed when two-factor authentication is on.',
        }),
      ),
    },
    { examples: [{ email: 'admin@example.com', password: 'correct horse battery staple' }] },
  ),
);

const carrierProperties = {
  refresh_token: Type.Optional(Type.String({ description: 'The refresh token; for mode `json` only.' })),
  mode: Type.Optional({
    ...SessionMode,
    description: 'The mode of the session. Default: `json` when `refresh_token` is given, otherwise `cookie`.',
  }),
};

export const RefreshBody = named('RefreshBody', Type.Object(carrierProperties));
export const LogoutBody = named('LogoutBody', Type.Object(carrierProperties));

export const SessionTokens = named(
  'SessionTokens',
  Closed(
    {
      expires: Type.Integer({ description: 'Lifetime of the access token in milliseconds.', examples: [900_000] }),
      access_token: Type.Optional(
        Type.String({ description: 'The access token, a JWT. Absent in mode `session`, where the cookie holds it.' }),
      ),
      refresh_token: Type.Optional(
        Type.String({
          pattern: '^[A-Za-z0-9_-]{64}$',
          description: 'The refresh token, valid once. Only in mode `json`.',
        }),
      ),
    },
    { description: 'The tokens of a session, as far as its mode puts them into the body.' },
  ),
);
export type SessionTokens = Static<typeof SessionTokens>;

export const SessionTokensResponse = Data(SessionTokens);

/** Headers of the answers that begin or refresh a session. */
export const cookieHeaders = {
  'set-cookie': Type.String({
    description: 'Mode `cookie`: the refresh cookie. Mode `session`: the session cookie. Mode `json`: none.',
  }),
};

/** Headers of the answer that ends a session. */
export const clearedCookieHeaders = {
  'set-cookie': Type.String({ description: 'Takes away those of our cookies that came with the request.' }),
};

/**
 * The claims of an access token (contract 1.2). They name who is calling and from which session; what the
 * caller may do is looked up on every request and never taken from here.
 */
export const AccessTokenClaims = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The id of the user.' }),
  role: Type.Union([Type.String({ format: 'uuid' }), Type.Null()]),
  app_access: Type.Boolean(),
  admin_access: Type.Boolean(),
  session: Type.String({ format: 'uuid', description: 'The id of the session.' }),
  enforce_tfa: Type.Optional(Type.Literal(true)),
  generation: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Only in mode `session`: which of the session’s successive tokens this one is.',
    }),
  ),
  iat: Type.Integer(),
  exp: Type.Integer(),
  iss: Type.String(),
});
export type AccessTokenClaims = Static<typeof AccessTokenClaims>;
