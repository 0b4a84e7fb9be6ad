import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';
import { exampleTokens, SessionMode, SessionTokens } from './sessions.js';

const key = Type.String({ description: 'Key of a provider.', examples: ['google'] });

/** Operation 3: the keys of the providers. */
export const ProviderKeysResponse = named(
  'ProviderKeys',
  Closed(
    { public: Type.Literal(true), data: Type.Array(key, { description: 'Keys of the providers.' }) },
    {
      description: 'The providers that one can log in with, by their keys.',
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
      label: Type.Optional(Type.String({ description: 'Name for people to read.' })),
      icon: Type.Optional(Type.String({ description: 'Name or URL of an icon.' })),
    },
    { description: 'A provider that one can log in with.' },
  ),
);
export type ListedProvider = Static<typeof ListedProvider>;

export const ProvidersResponse = named(
  'ProvidersResponse',
  Closed(
    {
      data: Type.Array(ListedProvider),
      disableDefault: Type.Boolean({ description: 'Whether login by e-mail and password is switched off.' }),
    },
    { examples: [{ data: [{ name: 'google', driver: 'openid', label: 'Google' }], disableDefault: false }] },
  ),
);

export const ProvidersQuery = Type.Object({
  sessionOnly: Type.Optional(
    Type.String({ description: 'When present: only providers whose sessions are in mode `session`.' }),
  ),
});

export const ProviderParams = Type.Object({ provider: key });

const redirect = Type.Optional(
  Type.String({
    description:
      'Where to lead the browser in the end: a path of this service, or a URL that the list of the provider allows. When the login fails it is led there too, with `?reason=` and the code of the error.',
    examples: ['/account'],
  }),
);

export const StartProviderLoginQuery = Type.Object({
  redirect,
  link: Type.Optional(
    Type.String({
      description: '`true`: lets the account at the provider log in the user of the session cookie from now on.',
    }),
  ),
});

export const StartOAuthLoginQuery = Type.Object({ redirect });

/** What a provider sends back with the browser (RFC 6749, 4.1.2; RFC 9207). */
export const CallbackQuery = Type.Object({
  code: Type.Optional(Type.String({ description: 'What the service exchanges for the tokens of the provider.' })),
  state: Type.Optional(Type.String({ description: 'As it was sent to the provider.' })),
  iss: Type.Optional(Type.String({ description: 'The issuer.' })),
  error: Type.Optional(Type.String({ description: 'In the place of a code: why there is none.' })),
});

/** What a login without `redirect` answers (contract 2.5). */
export const ProviderTokens = named(
  'ProviderTokens',
  Closed(
    { public: Type.Literal(true), data: SessionTokens },
    {
      description: 'The tokens of a session that was begun by a provider.',
      examples: [{ public: true, data: exampleTokens }],
    },
  ),
);

export const CompleteProviderLoginBody = named(
  'CompleteProviderLoginBody',
  Type.Object(
    {
      otp: Type.String({ minLength: 1, description: 'The code that the app shows now, or a recovery code.' }),
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
      email: Nullable(Type.String({ description: 'E-mail address there, as told at the last login.' })),
      primary: Type.Boolean({
        description: 'Whether it is the one that `provider` and `external_identifier` of the user name.',
      }),
      created_at: Timestamp('When it was first used or linked.'),
      last_used_at: Nullable(Timestamp('When it last logged the user in.')),
    },
    { description: 'An account at a provider that logs a user in.' },
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

/** Headers of the answers that lead a browser away. */
export const redirectHeaders = {
  location: Type.String({ description: 'Where to.' }),
  'set-cookie': Type.String({ description: 'The cookies of the flow or, at its end, of the session.' }),
};
