import type { Rule } from '../../components/rules/rule.js';

/** A usual set of rules. */
interface Template {
  name: 'support' | 'readonly' | 'manager';
  options: { app_access: boolean };
  rules: (collections: readonly string[]) => readonly Rule[];
}

const rule = (
  collection: string,
  action: Rule['action'],
  fields: readonly string[] | null,
  more: Partial<Rule> = {},
): Rule => ({ collection, action, fields, permissions: null, validation: null, presets: null, ...more });

const people = [
  'id',
  'first_name',
  'last_name',
  'email',
  'title',
  'status',
  'role',
  'last_access',
  'provider',
  'tfa_secret',
];

/** Without secrets, or what belongs to the users themselves. A rule applies only to the collections that the service has. */
export const templates: readonly Template[] = [
  {
    name: 'support',
    options: { app_access: true },
    rules: (collections) =>
      [
        rule('users', 'read', people),
        rule('users', 'update', ['first_name', 'last_name', 'status', 'tfa_secret'], {
          validation: { status: { _in: ['active', 'suspended'] } },
        }),
        rule('roles', 'read', ['id', 'name']),
        rule('activity', 'read', ['*']),
        rule('mails', 'read', ['*']),
        rule('mails', 'update', ['*']),
        rule('sessions', 'read', ['*']),
        rule('sessions', 'delete', null),
      ].filter(({ collection }) => collections.includes(collection)),
  },
  {
    name: 'readonly',
    options: { app_access: true },
    rules: (collections) => collections.map((collection) => rule(collection, 'read', ['*'])),
  },
  {
    name: 'manager',
    options: { app_access: true },
    rules: () => [
      rule('users', 'read', people),
      rule('users', 'create', ['email', 'first_name', 'last_name', 'title', 'role', 'status']),
      rule('users', 'update', ['first_name', 'last_name', 'title', 'status'], {
        validation: { status: { _in: ['active', 'suspended', 'archived'] } },
      }),
      rule('roles', 'read', ['id', 'name']),
    ],
  },
];
