import { Type } from '@sinclair/typebox';
import { Closed, Nullable, named, Uuid } from './common.js';
import { Related, RelatedList } from './query.js';

/** A role, as far as fields were asked for and may be read (contract 5). */
export const Role = named(
  'Role',
  Type.Partial(
    Closed(
      {
        id: Uuid('Identifier of the role.'),
        name: Type.String({ description: 'Name of the role.' }),
        icon: Nullable(Type.String({ description: 'Name of an icon.' })),
        description: Nullable(Type.String({ description: 'What the role is for.' })),
        parent: Related(Uuid('Role whose policies count, too.'), 'Role'),
        children: RelatedList(Uuid('Identifier of a role.'), 'Role', 'Roles that have this one as their parent.'),
        policies: RelatedList(Uuid('Identifier of a policy.'), 'Policy', 'Policies of the role.'),
        users: RelatedList(Uuid('Identifier of a user.'), 'User', 'Users who have the role.'),
      },
      { description: 'A role, with the fields that were asked for.' },
    ),
  ),
);

/** What can be written of a role. */
export const RoleInput = Type.Object(
  {
    id: Type.Optional(Uuid('Identifier for the new role.')),
    name: Type.String({ maxLength: 100, description: 'Name of the role.' }),
    icon: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'Name of an icon.' }))),
    description: Type.Optional(Nullable(Type.String({ description: 'What the role is for.' }))),
    parent: Type.Optional(Nullable(Uuid('Role whose policies count, too. For administrators only.'))),
    policies: Type.Optional(
      Type.Array(Uuid('Identifier of a policy.'), { description: 'Policies. For administrators only.' }),
    ),
  },
  { additionalProperties: false },
);
