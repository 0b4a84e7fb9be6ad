import { type Static, Type } from '@sinclair/typebox';
import { collectionSchemas } from './collections.js';
import { Closed, Data, Nullable, named, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { RelatedList } from './query.js';

/** The fields of a policy in a response. */
export const policyProperties = {
  id: Uuid('Identifier of the policy.'),
  name: Type.String({ description: 'Name of the policy.' }),
  icon: Nullable(Type.String({ description: 'The name of an icon.' })),
  description: Nullable(Type.String({ description: 'What the policy is for.' })),
  ip_access: Nullable(
    Type.Array(Type.String(), { description: 'CIDR ranges from which the policy applies. Null: from anywhere.' }),
  ),
  enforce_tfa: Type.Boolean({ description: 'Whether users with this policy must set up two-factor authentication.' }),
  admin_access: Type.Boolean({ description: 'Whether everything is allowed.' }),
  app_access: Type.Boolean({ description: 'Whether users with this policy can read their own user and role.' }),
  permissions: RelatedList(Type.Integer(), 'Permission', 'Permissions of the policy.'),
  users: RelatedList(Uuid('Identifier of a user.'), 'User', 'Users to whom the policy is assigned directly.'),
  roles: RelatedList(Uuid('Identifier of a role.'), 'Role', 'Roles that have the policy.'),
};

/** The writable fields of a policy. Only administrators can write its rights. */
const input = Type.Object(
  {
    id: Type.Optional(Uuid('Identifier for the new policy.')),
    name: Type.String({ maxLength: 100, description: 'Name of the policy.' }),
    icon: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'The name of an icon.' }))),
    description: Type.Optional(Nullable(Type.String({ maxLength: 10_000, description: 'What the policy is for.' }))),
    ip_access: Type.Optional(
      Nullable(
        Type.Array(Type.String({ maxLength: 100 }), {
          maxItems: 200,
          description: 'CIDR ranges from which the policy applies.',
        }),
      ),
    ),
    enforce_tfa: Type.Optional(
      Type.Boolean({ description: 'Whether users with this policy must set up two-factor authentication.' }),
    ),
    admin_access: Type.Optional(Type.Boolean({ description: 'Whether everything is allowed.' })),
    app_access: Type.Optional(
      Type.Boolean({ description: 'Whether users with this policy can read their own user and role.' }),
    ),
  },
  { additionalProperties: false },
);

export const policySchemas = collectionSchemas({
  one: 'Policy',
  many: 'Policies',
  properties: policyProperties,
  input,
  key: Uuid('Identifier of the policy.'),
  description: 'A policy, with the requested fields.',
  example: {
    id: 'c3f0a5b4-6c1f-4b5e-8a51-7d8e3f1f9a02',
    name: 'Edit texts',
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
  inputExample: { name: 'Edit texts', app_access: true },
});

/** The flags of all policies of a caller, combined. */
export const Globals = named(
  'Globals',
  Closed({
    app_access: Type.Boolean({ description: 'Whether the caller can read their own user and role.' }),
    admin_access: Type.Boolean({ description: 'Whether everything is allowed.' }),
    enforce_tfa: Type.Boolean({ description: 'Whether two-factor authentication must be set up.' }),
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
