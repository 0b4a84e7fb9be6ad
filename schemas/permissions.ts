import { type Static, Type } from '@sinclair/typebox';
import { collectionSchemas } from './collections.js';
import { Closed, Data, Nullable, named, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { Related } from './query.js';

const object = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }));

/** The fields of a permission in a response. */
export const permissionProperties = {
  id: Type.Integer({ description: 'The ID of the permission.' }),
  policy: Related('The policy that the permission belongs to.', 'Policy'),
  collection: Type.String({ description: 'The collection that the permission applies to.' }),
  action: Type.Union([Type.Literal('create'), Type.Literal('read'), Type.Literal('update'), Type.Literal('delete')]),
  permissions: object('The filter that an item must match.'),
  validation: object('The filter that an item must match after it is created or updated.'),
  presets: object('The default values of new items.'),
  fields: Nullable(
    Type.Array(Type.String(), { description: 'The fields that the permission applies to. `*` means all fields.' }),
  ),
};

const rule = (description: string) => Type.Optional(object(description));

/** The writable fields of a permission. Only administrators can write permissions. */
const input = Type.Object(
  {
    id: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'The ID of the new permission.' }),
    ),
    policy: Uuid('The policy that the permission belongs to.'),
    collection: Type.String({
      maxLength: 64,
      description:
        'The collection that the permission applies to: `users`, `roles`, `policies`, `permissions`, `settings`, `activity` (only for the action `read`), `mails` (`read` and `update`), or `sessions` (`read` and `delete`).',
    }),
    action: Type.Union([Type.Literal('create'), Type.Literal('read'), Type.Literal('update'), Type.Literal('delete')]),
    permissions: rule('The filter that an item must match. At most 16 KB as JSON.'),
    validation: rule('The filter that an item must match after it is created or updated. At most 16 KB as JSON.'),
    presets: rule('The default values of new items. At most 16 KB as JSON.'),
    fields: Type.Optional(
      Nullable(
        Type.Array(Type.String({ maxLength: 255 }), {
          maxItems: 500,
          description: 'The fields that the permission applies to. `*` means all fields.',
        }),
      ),
    ),
  },
  { additionalProperties: false },
);

export const permissionSchemas = collectionSchemas({
  one: 'Permission',
  many: 'Permissions',
  properties: permissionProperties,
  input,
  key: Type.Integer({ description: 'The ID of the permission.' }),
  description: 'A permission, with the requested fields.',
  example: {
    id: 1,
    policy: 'c3f0a5b4-6c1f-4b5e-8a51-7d8e3f1f9a02',
    collection: 'users',
    action: 'read',
    permissions: { role: { _eq: '$CURRENT_ROLE' } },
    validation: null,
    presets: null,
    fields: ['id', 'first_name', 'last_name'],
  },
  filterExample: { collection: { _eq: 'users' }, action: { _in: ['read', 'update'] } },
  inputExample: {
    policy: 'c3f0a5b4-6c1f-4b5e-8a51-7d8e3f1f9a02',
    collection: 'users',
    action: 'read',
    fields: ['id', 'first_name', 'last_name'],
  },
});

/** To what extent a caller may perform one action on a collection. */
export const ActionAccess = named(
  'ActionAccess',
  Closed({
    access: Type.Union([Type.Literal('none'), Type.Literal('partial'), Type.Literal('full')], {
      description:
        'Whether the action is allowed on all items (`full`), on some items (`partial`), or on none (`none`).',
    }),
    fields: Type.Optional(
      Type.Array(Type.String(), { description: 'The fields that the action is allowed on. `*` means all fields.' }),
    ),
    presets: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'The default values of new items.' }),
    ),
  }),
);
export type ActionAccess = Static<typeof ActionAccess>;

const CollectionAccess = named(
  'CollectionAccess',
  Closed({ create: ActionAccess, read: ActionAccess, update: ActionAccess, delete: ActionAccess }),
);

/** What a caller may do, by collection and action. */
export const MyPermissions = named('MyPermissions', Type.Record(Type.String(), CollectionAccess));
export type MyPermissions = Static<typeof MyPermissions>;

const none = { access: 'none' };
export const MyPermissionsResponse = named(
  'MyPermissionsResponse',
  Data(MyPermissions, {
    users: { create: none, read: { access: 'partial', fields: ['id', 'email'] }, update: none, delete: none },
  }),
);

const writeErrors = [
  'INVALID_QUERY',
  'FAILED_VALIDATION',
  'INVALID_FOREIGN_KEY',
  'VALUE_TOO_LONG',
  'NOT_NULL_VIOLATION',
] as const;

/** The ID is the only writable number, so only a create can return VALUE_OUT_OF_RANGE. */
export const permissionWriteErrors = {
  create: [...writeErrors, 'RECORD_NOT_UNIQUE', 'VALUE_OUT_OF_RANGE'],
  update: writeErrors,
  remove: ['INVALID_QUERY'],
} as const satisfies WriteErrors;
