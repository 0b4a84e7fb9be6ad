import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';
import { exampleTokens, SessionMode, SessionTokens } from './sessions.js';
import { refusedWith } from './validation.js';

const key = Type.String({ description: 'The key of the provider.', examples: ['google'] });

export const ProviderKeysResponse = named(
  'ProviderKeys',
  Closed(
    { public: Type.Literal(true), data: Type.Array(key, { description: 'The keys of the providers.' }) },
    {
      description: 'The keys of the providers that users can log in with.',
      examples: [{ public: true, data: ['google'] }],
    },
  ),
);

export const ListedProvider = named(
  'Provider',
  Closed(
    {
      name: key,
      driver: Type.Union([Type.Literal('openid'), Type.Literal('oauth2')], {
        description: 'The protocol of the provider.',
      }),
      label: Type.Optional(Type.String({ description: 'The display name.' })),
      icon: Type.Optional(Type.String({ description: 'The name or URL of an icon.' })),
    },
    { description: 'A provider that users can log in with.' },
  ),
);
export type ListedProvider = Static<typeof ListedProvider>;

export const ProvidersResponse = named(
  'ProvidersResponse',
  Closed(
    {
      data: Type.Array(ListedProvider),
      disableDefault: Type.Boolean({ description: 'Whether login with email and password is turned off.' }),
    },
    { examples: [{ data: [{ name: 'google', driver: 'openid', label: 'Google' }], disableDefault: false }] },
  ),
);

export const ProvidersQuery = Type.Object({
  sessionOnly: Type.Optional(
    Type.String({
      description:
        'If this parameter is present, the response contains only providers whose sessions use `session` mode.',
    }),
  ),
});

export const ProviderParams = Type.Object({ provider: key });

const redirect = Type.Optional(
  refusedWith(
    'INVALID_PAYLOAD',
    'redirect must be a single string',
    Type.String({
      description:
        "Where to redirect the browser after the login: a path on this service, or a URL in the provider's `REDIRECT_ALLOW_LIST`. If the login fails, the browser is redirected there with the error code in the query parameter `reason`.",
      examples: ['/account'],
    }),
  ),
);

export const StartLoginQuery = Type.Object({ redirect });

export const LinkIdentityBody = named(
  'LinkIdentityBody',
  Closed({ redirect }, { examples: [{ redirect: '/account' }] }),
);

export const LinkIdentityResponse = named(
  'LinkIdentityResponse',
  Data(
    Closed({
      url: Type.String({
        description: 'The URL of the provider. Open it in the browser that received the cookies of this response.',
      }),
    }),
    {
      url: 'https://accounts.google.com/o/oauth2/v2/auth?client_id=gatehouse&response_type=code',
    },
  ),
);

/** What a provider sends back with the browser (RFC 6749, 4.1.2; RFC 9207). */
export const CallbackQuery = Type.Object({
  code: Type.Optional(
    Type.String({ description: "The authorization code, which the service exchanges for the provider's tokens." }),
  ),
  state: Type.Optional(Type.String({ description: 'The `state` that was sent to the provider.' })),
  iss: Type.Optional(Type.String({ description: 'The issuer identifier of the provider.' })),
  error: Type.Optional(Type.String({ description: 'The error code of the provider, sent instead of `code`.' })),
});

/** The same as a form, with what Apple adds to it. */
export const CallbackForm = named(
  'ProviderCallbackForm',
  Type.Object(
    {
      ...CallbackQuery.properties,
      user: Type.Optional(
        Type.String({
          description:
            'The name of the user, as JSON, which Apple sends at the first login. Only the names in it are used.',
        }),
      ),
    },
    { examples: [{ code: 'c8d1f0…', state: 'MjAyNi0x…' }] },
  ),
);

/** The response to a login without `redirect`. */
export const ProviderTokens = named(
  'ProviderTokens',
  Closed(
    { public: Type.Literal(true), data: SessionTokens },
    {
      description: 'The tokens of a session that was started through a provider.',
      examples: [{ public: true, data: exampleTokens }],
    },
  ),
);

export const CompleteProviderLoginBody = named(
  'CompleteProviderLoginBody',
  Type.Object(
    {
      otp: Type.String({
        minLength: 1,
        description: 'The current code from the authenticator app, or a recovery code.',
      }),
      mode: Type.Optional({
        ...SessionMode,
        description: 'The mode of the session. Defaults to the mode that is configured for the provider.',
      }),
    },
    { examples: [{ otp: '492039' }] },
  ),
);

export const Identity = named(
  'Identity',
  Closed(
    {
      id: Uuid('The ID of the linked account.'),
      provider: key,
      external_identifier: Type.String({ description: "The user's ID at the provider." }),
      email: Nullable(Type.String({ description: 'The email address at the provider, as of the last login.' })),
      primary: Type.Boolean({
        description: "Whether the user's `provider` and `external_identifier` fields refer to this account.",
      }),
      managed: Type.Boolean({
        description:
          "Whether the provider of this account determines the user's role (`ROLE_MAPPING`). Such a user can log in only with this account, and none of the user's accounts can be unlinked.",
      }),
      created_at: Timestamp('When the account was first used or linked.'),
      last_used_at: Nullable(Timestamp('When the user last logged in with this account.')),
    },
    { description: 'A provider account that a user can log in with.' },
  ),
);

export const IdentitiesResponse = named(
  'IdentitiesResponse',
  Data(Type.Array(Identity), [
    {
      id: '7d1c9a52-8a3e-4a0b-b0f5-2d9a4b7c6e11',
      provider: 'google',
      external_identifier: '110169484474386276334',
      email: 'ada@example.com',
      primary: true,
      managed: false,
      created_at: '2026-01-31T09:26:53.000Z',
      last_used_at: null,
    },
  ]),
);

/** Headers of the response that starts linking. */
export const linkHeaders = {
  'set-cookie': Type.String({ description: 'The cookies that bind the flow to this browser.' }),
};

/** Headers of the responses that redirect the browser. */
export const redirectHeaders = {
  location: Type.String({ description: 'The target of the redirect.' }),
  'set-cookie': Type.String({
    description: 'The cookies of the login flow or, when the flow is complete, those of the session.',
  }),
};
