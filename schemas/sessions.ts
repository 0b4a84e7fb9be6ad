import { type Static, Type } from '@sinclair/typebox';
import { AccountEmail, Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';

export const SessionMode = Type.Union([Type.Literal('json'), Type.Literal('cookie'), Type.Literal('session')], {
  description:
    'How the service sends the tokens. `json` (default): both tokens are in the body. `cookie`: the access token is in the body, and the refresh token is in an `HttpOnly` cookie. `session`: the access token is in an `HttpOnly` cookie, and there is no refresh token.',
});
export type SessionMode = Static<typeof SessionMode>;

/**
 * What a user has proved in a session: the values of `amr` in RFC 8176, and two that its registry lacks, `email` and `fed`. In the order
 * in which the service lists them.
 */
export const AuthenticationMethod = Type.Union(
  (['email', 'fed', 'hwk', 'mfa', 'otp', 'pwd', 'swk', 'user'] as const).map((name) => Type.Literal(name)),
  {
    description:
      'An authentication method, as in the claim `amr` ([RFC 8176](https://www.rfc-editor.org/rfc/rfc8176)). `pwd`: the password. `otp`: a one-time password or a recovery code. `hwk`: a passkey that exists only on one device. `swk`: a synchronized passkey. `user`: the passkey verified the user. `mfa`: two factors. Two values are not in the registry of RFC 8176. `email`: a code or link in an email. `fed`: a login through a provider.',
  },
);
export type AuthenticationMethod = Static<typeof AuthenticationMethod>;

/** The second factor of a login. */
export const otp = Type.Optional(
  Type.String({
    minLength: 1,
    description: 'The one-time password, or a recovery code. Required if two-factor authentication is turned on.',
  }),
);

export const LoginBody = named(
  'LoginBody',
  Type.Object(
    {
      email: AccountEmail("The user's email address (case-insensitive)."),
      password: Type.String({ minLength: 1, description: "The user's password." }),
      // No default, because client generators treat a property with a default as required.
      mode: Type.Optional(SessionMode),
      otp,
    },
    { examples: [{ email: 'admin@example.com', password: 'correct horse battery staple' }] },
  ),
);

const carrierProperties = {
  refresh_token: Type.Optional(Type.String({ description: 'The refresh token. Used only in `json` mode.' })),
  mode: Type.Optional({
    ...SessionMode,
    description: 'The mode of the session. Defaults to `json` if `refresh_token` is set, and to `cookie` otherwise.',
  }),
};

const exampleToken = 'V1StGXR8_Z5jdHi6B-myT7KqWb0nLxEcPf3aUo9RdYs2JhGkMv4iNwQzCt8eAeFu';
const examples = [{ refresh_token: exampleToken }, { mode: 'cookie' }];
export const RefreshBody = named('RefreshBody', Type.Object(carrierProperties, { examples }));
export const LogoutBody = named('LogoutBody', Type.Object(carrierProperties, { examples }));

const expires = Type.Integer({
  description: 'The lifetime of the access token, in milliseconds.',
  examples: [900_000],
});
const access_token = Type.String({ description: 'The access token (a JWT).' });
const refresh_token = Type.String({
  pattern: '^[A-Za-z0-9_-]{64}$',
  description: 'The refresh token. The next refresh replaces it.',
});

const tokensByMode = [
  named(
    'JsonModeTokens',
    Closed({ expires, access_token, refresh_token }, { description: 'The tokens in `json` mode.' }),
  ),
  named(
    'CookieModeTokens',
    Closed(
      { expires, access_token },
      { description: 'The tokens in `cookie` mode. The refresh token is in the cookie.' },
    ),
  ),
  named(
    'SessionModeTokens',
    Closed({ expires }, { description: 'The response in `session` mode. The access token is in the cookie.' }),
  ),
] as const;

/** Exactly one of the schemas applies, so generated types can distinguish them: `'refresh_token' in tokens`. */
export const SessionTokens = named(
  'SessionTokens',
  Type.Unsafe<Static<(typeof tokensByMode)[number]>>({
    oneOf: tokensByMode,
    description: 'The tokens in the response body, which depend on the mode of the session.',
  }),
);
export type SessionTokens = Static<typeof SessionTokens>;

export const exampleTokens = {
  expires: 900_000,
  refresh_token: exampleToken,
  access_token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpZCI6IjBjOWQifQ.c2lnbmF0dXJl',
};

export const SessionTokensResponse = named('SessionTokensResponse', Data(SessionTokens, exampleTokens));

/** Headers of the responses that start or refresh a session. */
export const cookieHeaders = {
  'set-cookie': Type.String({
    description:
      'The refresh cookie in `cookie` mode, or the session cookie in `session` mode. Not set in `json` mode.',
  }),
};

/** A header of routes that anyone can call: an invalid session cookie is ignored and cleared. */
export const invalidCookieHeaders = {
  'set-cookie': Type.String({ description: 'Clears the session cookie if it is invalid.' }),
};

/** Headers of the response that ends a session. */
export const clearedCookieHeaders = {
  'set-cookie': Type.String({ description: 'Clears the authentication cookies sent with the request.' }),
};

const session = Closed(
  {
    id: Uuid('The ID of the session. It stays the same when the session is refreshed.'),
    device: Nullable(
      Type.String({
        description:
          'A human-readable device name, derived from the user agent: the browser and operating system, or the name of the program.',
        examples: ['Firefox, Linux'],
      }),
    ),
    user_agent: Nullable(Type.String({ description: 'The user agent that last used the session.' })),
    address: Nullable(
      Type.String({ description: 'The IP address from which the session was last used.', examples: ['192.0.2.1'] }),
    ),
    created_at: Timestamp('When the user logged in.'),
    last_used_at: Timestamp('When the session was last used, accurate to the minute.'),
    expires_at: Timestamp('When the session ends unless it is refreshed first.'),
    current: Type.Boolean({ description: 'Whether this is the current session.' }),
    applications: Type.Array(
      Closed({
        id: Type.String({ description: 'The ID of the client.' }),
        name: Type.String({ description: 'The name of the application.' }),
      }),
      {
        description:
          'The applications that have valid tokens from this session, including those that act for the user. Their tokens end with the session.',
      },
    ),
  },
  { description: 'A session, which starts with a login and continues with each refresh.' },
);

export const Session = named('Session', session);
export type Session = Static<typeof Session>;
export const sessionFields: readonly string[] = Object.keys(session.properties);

/** A session of any user, and whether the caller can end it. */
export const SessionOfUser = named(
  'SessionOfUser',
  Closed(
    {
      ...Type.Partial(session).properties,
      can_end: Type.Boolean({ description: 'Whether you have the permissions that are required to end the session.' }),
    },
    { description: 'A session of another user, with the fields that you can read.' },
  ),
);
export type SessionOfUser = Static<typeof SessionOfUser>;

const exampleSessions = [
  {
    id: '6b3c1f1e-0c57-4b8e-9d0a-3f5d1c2e7a90',
    device: 'Firefox, Linux',
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    address: '192.0.2.1',
    created_at: '2026-01-05T08:30:00.000Z',
    last_used_at: '2026-01-05T09:12:00.000Z',
    expires_at: '2026-01-12T09:12:00.000Z',
    current: true,
    applications: [{ id: '3c1d5f7a-8b2e-4c6d-9a0f-1e2b3c4d5e6f', name: 'Team calendar' }],
  },
];

export const SessionsResponse = named('SessionsResponse', Data(Type.Array(Session), exampleSessions));
export const SessionsOfUserResponse = named(
  'SessionsOfUserResponse',
  Data(
    Type.Array(SessionOfUser),
    exampleSessions.map((session) => ({ ...session, current: false, can_end: true })),
  ),
);

/**
 * The claims of an access token. They identify the user and the session. What the user may do is looked up on every
 * request and never read from the token.
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
      description: 'Only in `session` mode: which of the session’s successive tokens this one is.',
    }),
  ),
  iat: Type.Integer(),
  exp: Type.Integer(),
  iss: Type.String(),
  aud: Type.Optional(Type.String({ description: 'The value of ACCESS_TOKEN_AUDIENCE, if it is set.' })),
});
export type AccessTokenClaims = Static<typeof AccessTokenClaims>;
