import { Type } from '@sinclair/typebox';
import { collectionSchemas } from './collections.js';
import { Nullable, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { Related, RelatedList } from './query.js';

/** The fields of a role in a response. */
export const roleProperties = {
  id: Uuid('The ID of the role.'),
  name: Type.String({ description: 'The name of the role.' }),
  icon: Nullable(Type.String({ description: 'The name of an icon.' })),
  description: Nullable(Type.String({ description: 'The purpose of the role.' })),
  parent: Related('The parent role, whose policies also apply.', 'Role'),
  children: RelatedList(Uuid('The ID of a role.'), 'Role', 'The roles that have this role as their parent.'),
  policies: RelatedList(Uuid('The ID of a policy.'), 'Policy', 'The policies of the role.'),
  users: RelatedList(Uuid('The ID of a user.'), 'User', 'The users who have the role.'),
};

/** The writable fields of a role. */
const input = Type.Object(
  {
    id: Type.Optional(Uuid('The ID of the new role.')),
    name: Type.String({ maxLength: 100, description: 'The name of the role.' }),
    icon: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'The name of an icon.' }))),
    description: Type.Optional(Nullable(Type.String({ maxLength: 10_000, description: 'The purpose of the role.' }))),
    parent: Type.Optional(
      Nullable(Uuid('The parent role, whose policies also apply. Only administrators can set it.')),
    ),
    policies: Type.Optional(
      Type.Array(Uuid('The ID of a policy.'), {
        description: 'The IDs of the policies. Only administrators can set them.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const roleSchemas = collectionSchemas({
  one: 'Role',
  many: 'Roles',
  properties: roleProperties,
  input,
  key: Uuid('The ID of the role.'),
  description: 'A role, with the requested fields.',
  example: {
    id: '2f24211d-d928-469a-aea3-3c8f53d4e426',
    name: 'Editors',
    icon: 'edit',
    description: 'Users who edit articles.',
    parent: null,
    children: [],
    policies: ['c3f0a5b4-6c1f-4b5e-8a51-7d8e3f1f9a02'],
    users: ['0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21'],
  },
  filterExample: { name: { _contains: 'Edit' } },
  inputExample: { name: 'Editors', description: 'Users who edit articles.' },
});

const writeErrors = [
  'INVALID_QUERY',
  'FAILED_VALIDATION',
  'INVALID_FOREIGN_KEY',
  'VALUE_TOO_LONG',
  'NOT_NULL_VIOLATION',
] as const;

/**
 * Only the ID of a role is unique, and it can only be set when the role is created. A new role can already have holders, because the
 * configuration of a provider can name it before it exists.
 */
export const roleWriteErrors = {
  create: [...writeErrors, 'RECORD_NOT_UNIQUE', 'REAUTHENTICATION_REQUIRED', 'UNPROCESSABLE_CONTENT'],
  update: [...writeErrors, 'REAUTHENTICATION_REQUIRED', 'UNPROCESSABLE_CONTENT'],
  remove: ['INVALID_QUERY', 'UNPROCESSABLE_CONTENT'],
} as const satisfies WriteErrors;
