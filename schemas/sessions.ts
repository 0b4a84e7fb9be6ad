import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Email, Nullable, named, Timestamp, Uuid } from './common.js';

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

const exampleToken = 'V1StGXR8_Z5jdHi6B-myT7KqWb0nLxEcPf3aUo9RdYs2JhGkMv4iNwQzCt8eAeFu';
const examples = [{ refresh_token: exampleToken }, { mode: 'cookie' }];
export const RefreshBody = named('RefreshBody', Type.Object(carrierProperties, { examples }));
export const LogoutBody = named('LogoutBody', Type.Object(carrierProperties, { examples }));

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

export const exampleTokens = {
  expires: 900_000,
  refresh_token: exampleToken,
  access_token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpZCI6IjBjOWQifQ.c2lnbmF0dXJl',
};

export const SessionTokensResponse = named('SessionTokensResponse', Data(SessionTokens, exampleTokens));

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

export const Session = named(
  'Session',
  Closed(
    {
      id: Uuid('Identifier of the session; it stays the same when the session is refreshed.'),
      device: Nullable(
        Type.String({
          description: 'Browser and system, or the program, as far as the user agent tells; for people to read.',
          examples: ['Firefox, Linux'],
        }),
      ),
      user_agent: Nullable(Type.String({ description: 'The user agent of the last use, as it was sent.' })),
      address: Nullable(Type.String({ description: 'The IP address of the last use.', examples: ['192.0.2.1'] })),
      created_at: Timestamp('When the user logged in.'),
      last_used_at: Timestamp('When it was last used, to the minute.'),
      expires_at: Timestamp('When it ends unless it is refreshed before.'),
      current: Type.Boolean({ description: 'Whether it is the session that asks.' }),
    },
    { description: 'A session: one login, and all that was refreshed from it.' },
  ),
);
export type Session = Static<typeof Session>;

export const SessionsResponse = named(
  'SessionsResponse',
  Data(Type.Array(Session), [
    {
      id: '6b3c1f1e-0c57-4b8e-9d0a-3f5d1c2e7a90',
      device: 'Firefox, Linux',
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      address: '192.0.2.1',
      created_at: '2026-01-05T08:30:00.000Z',
      last_used_at: '2026-01-05T09:12:00.000Z',
      expires_at: '2026-01-12T09:12:00.000Z',
      current: true,
    },
  ]),
);

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
