import { type Static, Type } from '@sinclair/typebox';
import { collectionSchemas } from './collections.js';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { scopePattern } from './scopes.js';

export const clientTypes = ['public', 'confidential'] as const;
export const idTokenAlgorithms = ['RS256', 'ES256', 'EdDSA'] as const;

export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The ways in which clients get tokens. */
export const grantTypes = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:device_code',
  tokenExchange,
] as const;

const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { description },
    ),
  );

const Uris = (description: string) =>
  Type.Array(Type.String({ maxLength: 2000 }), {
    maxItems: 50,
    description: `${description} At most 50, with at most 2,000 characters each.`,
  });

/** The fields of a client, without those that only the service writes. */
const properties = {
  name: Type.String({ maxLength: 100, description: 'The name of the client, which users see.' }),
  logo_uri: Nullable(Type.String({ maxLength: 2000, description: "The https URL of the client's logo." })),
  type: oneOf(
    clientTypes,
    'Whether the client can keep a secret (`confidential`, such as a server) or not (`public`, such as an app or a page). It cannot be changed later.',
  ),
  redirect_uris: Uris(
    'The URIs to which users are redirected after they have signed in. They must match character by character, except for the port of a loopback address. Each is an https URI, an http URI of `localhost`, `127.0.0.1`, or `[::1]`, or a URI with the scheme of an app, such as `com.example.app:/callback`. Fragments, usernames, and `*` are not allowed. Required with the grant type `authorization_code`.',
  ),
  post_logout_redirect_uris: Uris(
    'The URIs to which users can be redirected after they have signed out. The rules of `redirect_uris` apply.',
  ),
  allowed_origins: Uris(
    'The origins whose pages can call the protocol endpoints from a browser, such as `https://app.example.com`.',
  ),
  grant_types: Type.Array(oneOf(grantTypes, 'A grant type.'), {
    maxItems: 10,
    description:
      'The ways in which the client can get tokens. By default, `authorization_code` and `refresh_token`. Only confidential clients can use `client_credentials`, and only confidential first-party clients can use token exchange.',
  }),
  scopes: Nullable(
    Type.Array(Type.String({ maxLength: 128, pattern: scopePattern }), {
      maxItems: 200,
      description:
        'The scopes that the client can request. Null if it can request all scopes of OpenID Connect and of its resources.',
    }),
  ),
  resources: Type.Array(Type.String({ maxLength: 255 }), {
    maxItems: 100,
    description: 'The identifiers of the resources for which the client can request access tokens.',
  }),
  first_party: Type.Boolean({
    description: 'Whether the client belongs to the project. Users are not asked for consent.',
  }),
  minimal_id_token: Type.Boolean({
    description:
      'Whether ID tokens contain only the claims of the protocol. Otherwise, they also contain the claims of the granted scopes.',
  }),
  access_token_ttl: Nullable(
    Type.String({
      maxLength: 16,
      description:
        'How long access tokens are valid, such as `15m`: from `1m` to `1d`. Null if the default applies. If the lifetime in the resource is shorter, it takes precedence.',
    }),
  ),
  refresh_token_ttl: Nullable(
    Type.String({
      maxLength: 16,
      description:
        'How long refresh tokens are valid, such as `30d`: from `5m` to `365d`. Null if the default applies.',
    }),
  ),
  id_token_signed_response_alg: oneOf(idTokenAlgorithms, 'The algorithm that signs ID tokens. By default, `RS256`.'),
  backchannel_logout_uri: Nullable(
    Type.String({
      maxLength: 2000,
      description:
        'The URL to which the service sends a logout token when a session ends in which the client received tokens (OpenID Connect Back-Channel Logout). It begins with `https://`, or with `http://` and a loopback host. The service connects to private addresses only if the configuration allows it.',
    }),
  ),
  pkce_required: Type.Boolean({
    description:
      'Whether the client must use PKCE. By default, it must. Confidential clients for which this is `false` must send a `nonce` instead.',
  }),
};

const { name, type, ...optional } = properties;

/** The writable fields of a client. */
const input = Type.Object(
  {
    id: Type.Optional(Uuid('The ID of the new client.')),
    name,
    type,
    ...Type.Partial(Type.Object(optional)).properties,
  },
  { additionalProperties: false },
);

const Secret = Type.String({
  pattern: '^gcs_[\\w-]{43}$',
  description: 'The secret of the client. The service stores only its hash, so save it now.',
});

const example = {
  id: '6f0c2a4e-51f7-4a0c-9d0e-6b8f0d1c2a3b',
  name: 'Shop',
  logo_uri: 'https://shop.example.com/logo.svg',
  type: 'confidential',
  redirect_uris: ['https://shop.example.com/callback'],
  post_logout_redirect_uris: ['https://shop.example.com/'],
  allowed_origins: [],
  grant_types: ['authorization_code', 'refresh_token'],
  scopes: null,
  resources: ['https://orders.example.com'],
  first_party: false,
  minimal_id_token: false,
  access_token_ttl: null,
  refresh_token_ttl: '30d',
  id_token_signed_response_alg: 'RS256',
  backchannel_logout_uri: null,
  pkce_required: true,
  created_at: '2026-01-31T09:26:53.000Z',
};

export const clientSchemas = collectionSchemas({
  one: 'Client',
  many: 'Clients',
  properties: {
    id: Uuid('The ID of the client, which is its `client_id`.'),
    ...properties,
    created_at: Timestamp('When the client was created.'),
  },
  input,
  createdOnly: { secret: Secret },
  isForAdministrators: true,
  key: Uuid('The ID of the client.'),
  description: 'An application that signs users in with Gatehouse, with the requested fields.',
  example,
  filterExample: { type: { _eq: 'confidential' } },
  inputExample: { name: 'Shop', type: 'confidential', redirect_uris: ['https://shop.example.com/callback'] },
});

export const ClientSecretResponse = named(
  'ClientSecretResponse',
  Data(Closed({ secret: Secret }), { secret: `gcs_${'x'.repeat(43)}` }),
);
export type ClientSecretResponse = Static<typeof ClientSecretResponse>;

const writeErrors = [
  'INVALID_QUERY',
  'FAILED_VALIDATION',
  'INVALID_FOREIGN_KEY',
  'VALUE_TOO_LONG',
  'NOT_NULL_VIOLATION',
] as const;

export const clientWriteErrors = {
  create: [...writeErrors, 'RECORD_NOT_UNIQUE', 'REAUTHENTICATION_REQUIRED'],
  update: [...writeErrors, 'UNPROCESSABLE_CONTENT'],
  remove: ['INVALID_QUERY', 'UNPROCESSABLE_CONTENT'],
} as const satisfies WriteErrors;
