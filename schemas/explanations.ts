import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Uuid } from './common.js';

const Action = Type.Union([
  Type.Literal('create'),
  Type.Literal('read'),
  Type.Literal('update'),
  Type.Literal('delete'),
]);

const itemsOf = (description: string) =>
  Type.Optional(Type.Array(Type.Object({}, { additionalProperties: true }), { maxItems: 50, description }));

const permissionId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });

const Deleted = Closed(
  {
    permissions: Type.Optional(Type.Array(permissionId, { maxItems: 50 })),
    roles: Type.Optional(Type.Array(Uuid('The ID of a role.'), { maxItems: 50 })),
    policies: Type.Optional(Type.Array(Uuid('The ID of a policy.'), { maxItems: 50 })),
  },
  { description: 'The IDs of permissions, roles, and policies that would be deleted.' },
);

const texts = {
  policies: 'Policies. With the ID of a policy that exists, the fields to change; otherwise, a new policy.',
  roles: 'Roles. With the ID of a role that exists, the fields to change; otherwise, a new role.',
  permissions: 'Permissions. With an ID, the fields to change; without one, a new permission.',
};

const changesOf = (one: typeof itemsOf) => ({
  policies: one(texts.policies),
  roles: one(texts.roles),
  permissions: one(texts.permissions),
  deleted: Type.Optional(Deleted),
});

const changesText =
  'Permissions, policies, and roles as they would be, at most 50 in total. The response describes that state. Nothing is written, but the service rejects what it would reject if you made these changes. New policies and roles can have an ID that you choose, so that the others can refer to them.';

/** The service validates the items, as it does when they are written. */
const Changes = Closed(changesOf(itemsOf), { description: changesText });
export type Changes = Static<typeof Changes>;

const question = {
  user: Type.Optional(Uuid('The ID of a user.')),
  role: Type.Optional(
    Uuid('The ID of a role: explain what a user with this role and no policies of their own may do.'),
  ),
  public: Type.Optional(Type.Literal(true, { description: 'Explain what anonymous callers may do.' })),
  collection: Type.String({
    maxLength: 64,
    description: 'A collection that permissions can apply to, such as `users`.',
  }),
  action: { ...Action, description: 'The action.' } as typeof Action,
  item: Type.Optional(
    Type.Union([Type.String({ maxLength: 64 }), Type.Integer()], {
      description: 'The ID of an item. Without it, the question is whether the action is allowed on any item.',
    }),
  ),
  field: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A field of the collection. With `item`, the question is whether `GET` would show the value or, for other actions, whether the caller may write it. To update `mails` is to retry an email, which writes no field.',
    }),
  ),
  ip: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The address of the client. Without it, policies with `ip_access` do not apply.',
    }),
  ),
};

const example = {
  user: '8cbb43fe-4cdf-4991-8352-c461779cec02',
  collection: 'users',
  action: 'read',
  field: 'email',
};

export const ExplainBody = named('ExplainBody', {
  ...Closed({ ...question, changes: Type.Optional(Changes) }),
  description: 'What to explain. Exactly one of `user`, `role`, and `public` is required.',
  examples: [example],
});
export type ExplainBody = Static<typeof ExplainBody>;

const Reason = named(
  'PermissionReason',
  Closed({
    policy: Uuid('The ID of the policy.'),
    policy_name: Type.String({ description: 'The name of the policy.' }),
    permission: Nullable(
      Type.Integer({
        description:
          'The ID of the permission. Null if `admin_access` or `app_access` of the policy allows the action, or if the permission is new in `changes`.',
      }),
    ),
    change: Nullable(
      Type.Integer({ description: 'The position in `changes.permissions` of a permission that is new there.' }),
    ),
    fields: Type.Array(Type.String(), {
      description: 'The fields that it allows, on the items that match its rule; `*` for all of them.',
    }),
    own: Type.Boolean({
      description: "Whether `app_access` allows it, which covers only the user's own account and roles.",
    }),
    by: Type.Union([Type.Literal('role'), Type.Literal('parent'), Type.Literal('user'), Type.Literal('public')], {
      description:
        'Why the policy applies: it belongs to the role of the user (`role`), to an ancestor of that role (`parent`), or to the user (`user`), or it is the public policy (`public`).',
    }),
    role: Nullable(Uuid('The ID of the role that the policy belongs to.')),
    role_name: Nullable(Type.String({ description: 'The name of that role.' })),
  }),
);
export type Reason = Static<typeof Reason>;

/** What prevents the action, by code. */
const obstacles = {
  no_such_user: 'There is no user with this ID.',
  no_such_role: 'There is no role with this ID.',
  user_not_active: 'The user is not active, so no credential of the user is accepted.',
  second_factor: 'The user must set up two-factor authentication, or sign in with a passkey, before anything else.',
  no_operation: 'There is no such operation on this collection.',
  no_permission: 'No policy that applies allows this action on the collection.',
  other_addresses: 'A policy could allow it, but applies only to other addresses (`ip_access`).',
  no_such_field: 'The collection has no such field for this action.',
  field_not_permitted: 'No permission for this field applies.',
  no_such_item: 'There is no item with this ID.',
  item_not_reached: 'The item does not match the rule of any permission for this action.',
  more_rights:
    'The caller does not have all of the rights of the user whom the item is about, or this user does not exist.',
  not_failed: 'The email has not failed, so nobody can send it again.',
  required_field: 'A new item requires a field that the caller may not write.',
  reserved: 'The service does not allow it, whatever the permissions.',
} as const;
export type Obstacle = keyof typeof obstacles;
export const messageOf = (code: Obstacle): string => obstacles[code];

const Missing = named(
  'MissingPermission',
  Closed({
    code: Type.Union(
      Object.keys(obstacles).map((code) => Type.Literal(code as Obstacle)),
      { description: 'What prevents the action.' },
    ),
    message: Type.String({ description: 'The same in words.' }),
    field: Type.Optional(Type.String({ description: 'The field that is concerned.' })),
    policy: Type.Optional(Uuid('The ID of the policy that applies only to other addresses.')),
  }),
);
export type Missing = Static<typeof Missing>;

const filterOf = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }));

export const Explanation = named(
  'Explanation',
  Closed({
    allowed: Type.Boolean({
      description:
        'Whether the action is allowed: on the item and the field in the question or, without them, on at least some items or fields. Values can still be rejected, for example because they are invalid.',
    }),
    fields: Type.Array(Type.String(), {
      description:
        'The fields that can be read or written, on the item if there is one in the question. `*` means all fields. Empty for `delete`.',
    }),
    filter: filterOf(
      'Selects the items that the rules of the permissions reach. Variables are replaced with their values, so you can use it as the `filter` of a query. For a role, `$CURRENT_USER` remains. Null if there is no rule: all items, if the action is allowed. Callers who are not administrators reach only those items of `activity`, `mails`, and `sessions` that are about users whose rights they have.',
    ),
    validation: filterOf(
      'What items must match after they are created or updated. Null if there is no such condition.',
    ),
    because: Type.Array(Reason, {
      description:
        'What allows it: each permission that applies to the item and the field in the question, once for each way in which its policy applies.',
    }),
    missing: Type.Array(Missing, { description: 'What prevents it. Empty if the action is allowed.' }),
    requires_tfa: Type.Boolean({
      description: 'Whether a policy that applies requires two-factor authentication (`enforce_tfa`).',
    }),
    counts: Closed(
      {
        fields: Type.Integer({ description: 'The number of fields in `fields`.' }),
        all_fields: Type.Integer({
          description: 'The number of fields that the collection has for this action.',
        }),
        items: Nullable(
          Type.Integer({
            description:
              'The number of items that the rules reach, at most 1000. Null for `create`, for the settings, for `activity`, `mails`, and `sessions`, and if counting would take too long.',
          }),
        ),
        more_items: Type.Boolean({ description: 'Whether there are more than 1000 items.' }),
      },
      { description: 'Numbers for a summary, such as "sees 3 of 28 fields of 12 users".' },
    ),
  }),
);
export type Explanation = Static<typeof Explanation>;

export const ExplanationResponse = named(
  'ExplanationResponse',
  Data(Explanation, {
    allowed: true,
    fields: ['id', 'email', 'first_name'],
    filter: { role: { _eq: '0e3c1b7e-7c0e-4b7e-9d2b-2c2a7d5f2f11' } },
    validation: null,
    because: [
      {
        policy: 'c3f0a5b4-6c1f-4b5e-8a51-7d8e3f1f9a02',
        policy_name: 'Members',
        permission: 12,
        change: null,
        fields: ['id', 'email'],
        own: false,
        by: 'role',
        role: '0e3c1b7e-7c0e-4b7e-9d2b-2c2a7d5f2f11',
        role_name: 'Member',
      },
    ],
    missing: [],
    requires_tfa: false,
    counts: { fields: 3, all_fields: 28, items: 12, more_items: false },
  }),
);
