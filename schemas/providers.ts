import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';
import { exampleTokens, SessionMode, SessionTokens } from './sessions.js';
import { refusedWith } from './validation.js';

const key = Type.String({ description: 'Key of a provider.', examples: ['google'] });

export const ProviderKeysResponse = named(
  'ProviderKeys',
  Closed(
    { public: Type.Literal(true), data: Type.Array(key, { description: 'Keys of the providers.' }) },
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
      driver: Type.Union([Type.Literal('openid'), Type.Literal('oauth2')], { description: 'The protocol.' }),
      label: Type.Optional(Type.String({ description: 'The display name.' })),
      icon: Type.Optional(Type.String({ description: 'Name or URL of an icon.' })),
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
    Type.String({ description: 'If present, returns only providers whose sessions use mode `session`.' }),
  ),
});

export const ProviderParams = Type.Object({ provider: key });

const redirect = Type.Optional(
  refusedWith(
    'INVALID_PAYLOAD',
    'redirect must be a single string',
    Type.String({
      description:
        'Where to redirect the browser after the login: a path of this service, or a URL in REDIRECT_ALLOW_LIST of the provider. If the login fails, the browser is redirected there with the error code in `?reason=`.',
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
  Data(Closed({ url: Type.String({ description: 'The URL at the provider to open in the same browser.' }) }), {
    url: 'https://accounts.google.com/o/oauth2/v2/auth?client_id=gatehouse&response_type=code',
  }),
);

/** What a provider sends back with the browser (RFC 6749, 4.1.2; RFC 9207). */
export const CallbackQuery = Type.Object({
  code: Type.Optional(
    Type.String({ description: 'The code that the service exchanges for the tokens of the provider.' }),
  ),
  state: Type.Optional(Type.String({ description: 'The `state` that was sent to the provider.' })),
  iss: Type.Optional(Type.String({ description: 'The issuer.' })),
  error: Type.Optional(Type.String({ description: 'The error of the provider, if there is no code.' })),
});

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
      otp: Type.String({ minLength: 1, description: 'The current code of the authenticator app, or a recovery code.' }),
      mode: Type.Optional({ ...SessionMode, description: 'The mode of the session. Default: that of the provider.' }),
    },
    { examples: [{ otp: '492039' }] },
  ),
);

export const Identity = named(
  'Identity',
  Closed(
    {
      id: Uuid('Identifier of the identity.'),
      provider: key,
      external_identifier: Type.String({ description: 'Identifier of the user at the provider.' }),
      email: Nullable(Type.String({ description: 'The email address at the provider, as of the last login.' })),
      primary: Type.Boolean({
        description: 'Whether `provider` and `external_identifier` of the user refer to this account.',
      }),
      created_at: Timestamp('When it was first used or linked.'),
      last_used_at: Nullable(Timestamp('When the user last signed in with it.')),
    },
    { description: 'A provider account that can sign in to the account of a user.' },
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
  'set-cookie': Type.String({ description: 'The cookies of the flow or, when it is complete, of the session.' }),
};
