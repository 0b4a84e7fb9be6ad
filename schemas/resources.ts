import { Type } from '@sinclair/typebox';
import { collectionSchemas } from './collections.js';
import { Timestamp, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { scopePattern } from './scopes.js';

/** The fields of a resource, without those that only the service writes. */
const properties = {
  identifier: Type.String({
    maxLength: 255,
    description:
      'The identifier of the resource: an absolute URI without a fragment. It is unique, clients send it as `resource`, and access tokens contain it as `aud`. A client that is not registered, and whose ID is the same URI, is no longer accepted. If you change it, it also changes in the clients that list it.',
  }),
  name: Type.String({ maxLength: 100, description: 'The name of the resource, which users see.' }),
  scopes: Type.Array(Type.String({ maxLength: 128, pattern: scopePattern }), {
    maxItems: 200,
    description:
      'The scopes of the resource. Scopes of OpenID Connect, such as `email`, and of the service itself, such as `users:read`, are not allowed.',
  }),
  access_token_ttl: Type.String({
    maxLength: 16,
    description:
      'How long access tokens for the resource are valid, such as `10m`: from `1m` to `1d`. By default, `10m`.',
  }),
  open_to_unregistered: Type.Boolean({
    description: 'Whether clients that are not registered can request access tokens for the resource.',
  }),
};

const { identifier, name, ...optional } = properties;

/** The writable fields of a resource. */
const input = Type.Object(
  {
    id: Type.Optional(Uuid('The ID of the new resource.')),
    identifier,
    name,
    ...Type.Partial(Type.Object(optional)).properties,
  },
  { additionalProperties: false },
);

export const resourceSchemas = collectionSchemas({
  one: 'Resource',
  many: 'Resources',
  properties: {
    id: Uuid('The ID of the resource.'),
    ...properties,
    created_at: Timestamp('When the resource was created.'),
  },
  input,
  isForAdministrators: true,
  key: Uuid('The ID of the resource.'),
  description: "An API that accepts Gatehouse's access tokens, with the requested fields.",
  example: {
    id: 'b7d6a5c4-3e2f-4a1b-8c9d-0e1f2a3b4c5d',
    identifier: 'https://orders.example.com',
    name: 'Orders',
    scopes: ['orders:read', 'orders:write'],
    access_token_ttl: '10m',
    open_to_unregistered: false,
    created_at: '2026-01-31T09:26:53.000Z',
  },
  filterExample: { identifier: { _eq: 'https://orders.example.com' } },
  inputExample: {
    identifier: 'https://orders.example.com',
    name: 'Orders',
    scopes: ['orders:read', 'orders:write'],
  },
});

const writeErrors = [
  'INVALID_QUERY',
  'FAILED_VALIDATION',
  'VALUE_TOO_LONG',
  'NOT_NULL_VIOLATION',
  'RECORD_NOT_UNIQUE',
] as const;

export const resourceWriteErrors = {
  create: writeErrors,
  update: [...writeErrors, 'UNPROCESSABLE_CONTENT'],
  remove: ['INVALID_QUERY', 'UNPROCESSABLE_CONTENT'],
} as const satisfies WriteErrors;
