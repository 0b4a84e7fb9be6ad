import { type Static, Type } from '@sinclair/typebox';
import { collectionSchemas } from './collections.js';
import { Closed, Data, Nullable, named, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { RelatedList } from './query.js';

/** The fields of a policy in a response. */
export const policyProperties = {
  id: Uuid('The ID of the policy.'),
  name: Type.String({ description: 'The name of the policy.' }),
  icon: Nullable(Type.String({ description: 'The name of an icon.' })),
  description: Nullable(Type.String({ description: 'The purpose of the policy.' })),
  ip_access: Nullable(
    Type.Array(Type.String(), {
      description:
        'The IP ranges, in CIDR notation, from which requests must come for the policy to apply. Null if the policy applies to requests from any IP address.',
    }),
  ),
  enforce_tfa: Type.Boolean({ description: 'Whether users with this policy must set up two-factor authentication.' }),
  admin_access: Type.Boolean({ description: 'Whether all operations are allowed.' }),
  app_access: Type.Boolean({ description: 'Whether users with this policy can read their own user record and role.' }),
  permissions: RelatedList(Type.Integer(), 'Permission', 'The permissions of the policy.'),
  users: RelatedList(Uuid('The ID of a user.'), 'User', 'The users to whom the policy is assigned directly.'),
  roles: RelatedList(Uuid('The ID of a role.'), 'Role', 'The roles that have the policy.'),
};

/** The writable fields of a policy. Only administrators can write its rights. */
const input = Type.Object(
  {
    id: Type.Optional(Uuid('The ID of the new policy.')),
    name: Type.String({ maxLength: 100, description: 'The name of the policy.' }),
    icon: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'The name of an icon.' }))),
    description: Type.Optional(Nullable(Type.String({ maxLength: 10_000, description: 'The purpose of the policy.' }))),
    ip_access: Type.Optional(
      Nullable(
        Type.Array(Type.String({ maxLength: 100 }), {
          maxItems: 200,
          description: 'The IP ranges, in CIDR notation, from which requests must come for the policy to apply.',
        }),
      ),
    ),
    enforce_tfa: Type.Optional(
      Type.Boolean({ description: 'Whether users with this policy must set up two-factor authentication.' }),
    ),
    admin_access: Type.Optional(Type.Boolean({ description: 'Whether all operations are allowed.' })),
    app_access: Type.Optional(
      Type.Boolean({ description: 'Whether users with this policy can read their own user record and role.' }),
    ),
  },
  { additionalProperties: false },
);

export const policySchemas = collectionSchemas({
  one: 'Policy',
  many: 'Policies',
  properties: policyProperties,
  input,
  key: Uuid('The ID of the policy.'),
  description: 'A policy, with the requested fields.',
  example: {
    id: 'c3f0a5b4-6c1f-4b5e-8a51-7d8e3f1f9a02',
    name: 'Edit articles',
    icon: null,
    description: null,
    ip_access: ['192.0.2.0/24'],
    enforce_tfa: false,
    admin_access: false,
    app_access: true,
    permissions: [1, 2],
    users: [],
    roles: ['2f24211d-d928-469a-aea3-3c8f53d4e426'],
  },
  filterExample: { _or: [{ admin_access: true }, { enforce_tfa: true }] },
  inputExample: { name: 'Edit articles', app_access: true },
});

/** The flags of all policies of a caller, combined. */
export const Globals = named(
  'Globals',
  Closed({
    app_access: Type.Boolean({ description: 'Whether you can read your own user record and role.' }),
    admin_access: Type.Boolean({ description: 'Whether all operations are allowed.' }),
    enforce_tfa: Type.Boolean({ description: 'Whether you must set up two-factor authentication.' }),
  }),
);
export type Globals = Static<typeof Globals>;
export const GlobalsResponse = named(
  'GlobalsResponse',
  Data(Globals, { app_access: true, admin_access: false, enforce_tfa: false }),
);

const writeErrors = ['INVALID_QUERY', 'FAILED_VALIDATION', 'VALUE_TOO_LONG', 'NOT_NULL_VIOLATION'] as const;

/** A policy has no foreign keys, and only its ID is unique. */
export const policyWriteErrors = {
  create: [...writeErrors, 'RECORD_NOT_UNIQUE'],
  update: [...writeErrors, 'REAUTHENTICATION_REQUIRED', 'UNPROCESSABLE_CONTENT'],
  remove: ['INVALID_QUERY', 'UNPROCESSABLE_CONTENT'],
} as const satisfies WriteErrors;
