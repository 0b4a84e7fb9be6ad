import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Uuid } from './common.js';
import { Related } from './query.js';

const object = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }));

/** A permission, as far as fields were asked for and may be read (contract 5). */
export const Permission = named(
  'Permission',
  Type.Partial(
    Closed(
      {
        id: Type.Integer({ description: 'Identifier of the permission.' }),
        policy: Related(Uuid('Policy that the permission belongs to.'), 'Policy'),
        collection: Type.String({ description: 'Collection that it is about.' }),
        action: Type.Union([
          Type.Literal('create'),
          Type.Literal('read'),
          Type.Literal('update'),
          Type.Literal('delete'),
        ]),
        permissions: object('Filter that an item must match.'),
        validation: object('Filter that a written item must match.'),
        presets: object('Values that a new item gets unless others are given.'),
        fields: Nullable(Type.Array(Type.String(), { description: 'Fields that it is about; `*` means all.' })),
      },
      { description: 'A permission, with the fields that were asked for.' },
    ),
  ),
);

const rule = (description: string) => Type.Optional(object(description));

/** What can be written of a permission, by administrators only. */
export const PermissionInput = Type.Object(
  {
    policy: Uuid('Policy that the permission belongs to.'),
    collection: Type.String({ maxLength: 64, description: 'users, roles, policies, permissions or settings.' }),
    action: Type.Union([Type.Literal('create'), Type.Literal('read'), Type.Literal('update'), Type.Literal('delete')]),
    permissions: rule('Filter that an item must match.'),
    validation: rule('Filter that a written item must match.'),
    presets: rule('Values that a new item gets unless others are given.'),
    fields: Type.Optional(
      Nullable(Type.Array(Type.String(), { description: 'Fields that it is about; `*` means all.' })),
    ),
  },
  { additionalProperties: false },
);

/** What a caller may do with a collection. */
export const ActionAccess = named(
  'ActionAccess',
  Closed({
    access: Type.Union([Type.Literal('none'), Type.Literal('partial'), Type.Literal('full')], {
      description: 'With which items.',
    }),
    fields: Type.Optional(Type.Array(Type.String(), { description: 'Which fields; `*` means all.' })),
    presets: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Values that new items get.' })),
  }),
);
export type ActionAccess = Static<typeof ActionAccess>;

const actions = Closed({ create: ActionAccess, read: ActionAccess, update: ActionAccess, delete: ActionAccess });

/** What a caller may do, by collection and action. */
export const MyPermissions = named('MyPermissions', Type.Record(Type.String(), actions));
export type MyPermissions = Static<typeof MyPermissions>;
export const MyPermissionsResponse = Data(MyPermissions);
