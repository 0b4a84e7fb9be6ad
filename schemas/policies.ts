import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Uuid } from './common.js';
import { RelatedList } from './query.js';

/** A policy, as far as fields were asked for and may be read (contract 5). */
export const Policy = named(
  'Policy',
  Type.Partial(
    Closed(
      {
        id: Uuid('Identifier of the policy.'),
        name: Type.String({ description: 'Name of the policy.' }),
        icon: Nullable(Type.String({ description: 'Name of an icon.' })),
        description: Nullable(Type.String({ description: 'What the policy is for.' })),
        ip_access: Nullable(
          Type.Array(Type.String(), { description: 'CIDR ranges from which the policy counts; null: from anywhere.' }),
        ),
        enforce_tfa: Type.Boolean({ description: 'Whether its users must set up two-factor authentication.' }),
        admin_access: Type.Boolean({ description: 'Whether everything is allowed.' }),
        app_access: Type.Boolean({ description: 'Whether its users may read themselves and their role.' }),
        permissions: RelatedList(Type.Integer(), 'Permission', 'Permissions of the policy.'),
        users: RelatedList(Uuid('Identifier of a user.'), 'User', 'Users who have the policy themselves.'),
        roles: RelatedList(Uuid('Identifier of a role.'), 'Role', 'Roles that have the policy.'),
      },
      { description: 'A policy, with the fields that were asked for.' },
    ),
  ),
);

/** What can be written of a policy; its rights by administrators only. */
export const PolicyInput = Type.Object(
  {
    id: Type.Optional(Uuid('Identifier for the new policy.')),
    name: Type.String({ maxLength: 100, description: 'Name of the policy.' }),
    icon: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'Name of an icon.' }))),
    description: Type.Optional(Nullable(Type.String({ description: 'What the policy is for.' }))),
    ip_access: Type.Optional(Nullable(Type.Array(Type.String(), { description: 'CIDR ranges from which it counts.' }))),
    enforce_tfa: Type.Optional(
      Type.Boolean({ description: 'Whether its users must set up two-factor authentication.' }),
    ),
    admin_access: Type.Optional(Type.Boolean({ description: 'Whether everything is allowed.' })),
    app_access: Type.Optional(Type.Boolean({ description: 'Whether its users may read themselves and their role.' })),
  },
  { additionalProperties: false },
);

/** What the policies of a caller say in general. */
export const Globals = named(
  'Globals',
  Closed({
    app_access: Type.Boolean({ description: 'Whether they may read themselves and their role.' }),
    admin_access: Type.Boolean({ description: 'Whether everything is allowed.' }),
    enforce_tfa: Type.Boolean({ description: 'Whether two-factor authentication must be set up.' }),
  }),
);
export type Globals = Static<typeof Globals>;
export const GlobalsResponse = Data(Globals);
