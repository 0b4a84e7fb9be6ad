import { Type } from '@sinclair/typebox';
import { collectionSchemas, orHidden } from './collections.js';
import { Closed, Email, Nullable, named, Timestamp, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { Related, RelatedList, withMeta } from './query.js';

/** The possible statuses. Only `active` users can log in or use any token. */
export const userStatuses = ['draft', 'invited', 'unverified', 'active', 'suspended', 'archived'] as const;

const text = (description: string) => Nullable(Type.String({ description }));
const concealed = (description: string) =>
  Nullable(Type.String({ description: `${description} Masked as ten asterisks if set.`, examples: ['**********'] }));
const json = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }));

/** The fields of a user in a response. The password must never be one of them. */
export const userProperties = {
  id: Uuid('Unique identifier of the user.'),
  first_name: text('First name.'),
  last_name: text('Last name.'),
  email: text('The email address, unique regardless of letter case.'),
  location: text('The current page.'),
  title: text('Title or position.'),
  description: text('About the user.'),
  tags: Nullable(Type.Array(Type.String(), { description: 'Tags.' })),
  avatar: text('Picture of the user: the ID of a file, or an https URL.'),
  language: text('Language of the user, as a BCP 47 tag.'),
  tfa_secret: concealed('The secret of two-factor authentication.'),
  status: Type.Union(
    userStatuses.map((status) => Type.Literal(status)),
    { description: 'The status. Only `active` users can log in.' },
  ),
  role: Related('Identifier of the role of the user.', 'Role'),
  token: concealed('The static token.'),
  policies: RelatedList(Uuid('Identifier of a policy.'), 'Policy', 'Policies assigned directly to the user.'),
  last_access: Nullable(Timestamp('When the user last used the API.')),
  last_page: text('The last page of the application that the user was on.'),
  provider: Type.String({
    description: 'The provider that the user logs in with. `default` means email and password.',
  }),
  external_identifier: text('Identifier of the user at the provider.'),
  auth_data: json('Data about the user from the provider.'),
  email_notifications: Type.Boolean({
    description: 'Whether the user gets notifications by email. Security notices are always sent.',
  }),
  appearance: text('`auto`, `light` or `dark`.'),
  theme_dark: text('Theme in dark mode.'),
  theme_light: text('Theme in light mode.'),
  theme_light_overrides: json('Customization of the light theme.'),
  theme_dark_overrides: json('Customization of the dark theme.'),
  created_at: Timestamp('When the user was created. Read-only.'),
  email_verified_at: Nullable(
    Timestamp(
      'When the user last proved that they read the mailbox of `email`. Null if they never did, or if an administrator has changed the address since. Read-only.',
    ),
  ),
};

const optional = (schema: Parameters<typeof Type.Array>[0]) => Type.Optional(schema);
const limited = (maxLength: number, description: string) => optional(Nullable(Type.String({ maxLength, description })));
const object = (description: string) => optional(json(description));

/** The writable fields of a user. */
const input = Type.Object(
  {
    id: optional(Uuid('Identifier for the new user. Default: a generated one. Ignored in updates.')),
    email: Email('The email address, unique regardless of letter case.'),
    password: optional(
      Nullable(Type.String({ minLength: 1, maxLength: 1024, description: 'The password. Never returned.' })),
    ),
    first_name: limited(50, 'First name.'),
    last_name: limited(50, 'Last name.'),
    location: limited(255, 'The current page.'),
    title: limited(50, 'Title or position.'),
    description: limited(10_000, 'About the user.'),
    tags: optional(Nullable(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100, description: 'Tags.' }))),
    avatar: limited(255, 'Picture of the user: the ID of a file, or an https URL.'),
    language: limited(255, 'Language of the user, as a BCP 47 tag.'),
    status: optional(
      Type.Union(
        userStatuses.map((status) => Type.Literal(status)),
        { description: 'Status.' },
      ),
    ),
    role: optional(Nullable(Uuid('Identifier of the role. Administrators only.'))),
    policies: optional(Type.Array(Uuid('Identifier of a policy.'), { description: 'Policies. Administrators only.' })),
    token: optional(
      Nullable(
        Type.String({
          minLength: 32,
          maxLength: 255,
          description: 'Static token. Only administrators may set the token of another user.',
        }),
      ),
    ),
    last_access: optional(Nullable(Timestamp('When the user last used the API. Administrators only.'))),
    last_page: limited(255, 'The last page of the application that the user was on.'),
    provider: optional(Type.String({ maxLength: 128, description: 'Provider. Administrators only.' })),
    external_identifier: limited(255, 'Identifier of the user at the provider. Administrators only.'),
    auth_data: object('Data about the user from the provider, at most 64 KB as JSON. Administrators only.'),
    email_notifications: optional(
      Type.Boolean({
        description: 'Whether the user gets notifications by email. Security notices are always sent.',
      }),
    ),
    appearance: limited(255, '`auto`, `light` or `dark`.'),
    theme_dark: limited(255, 'Theme in dark mode.'),
    theme_light: limited(255, 'Theme in light mode.'),
    theme_light_overrides: object('Customization of the light theme, at most 16 KB as JSON.'),
    theme_dark_overrides: object('Customization of the dark theme, at most 16 KB as JSON.'),
  },
  { additionalProperties: false },
);

const example = {
  id: '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  location: null,
  title: 'Analyst',
  description: null,
  tags: ['mathematics'],
  avatar: null,
  language: 'en-GB',
  tfa_secret: null,
  status: 'active',
  role: '2f24211d-d928-469a-aea3-3c8f53d4e426',
  token: null,
  policies: [],
  last_access: '2026-01-31T09:26:53.000Z',
  last_page: '/home',
  provider: 'default',
  external_identifier: null,
  auth_data: null,
  email_notifications: true,
  appearance: 'auto',
  theme_dark: null,
  theme_light: null,
  theme_light_overrides: null,
  theme_dark_overrides: null,
  created_at: '2026-01-12T08:00:00.000Z',
  email_verified_at: '2026-01-12T08:04:31.000Z',
};

const currentPassword = Type.String({
  minLength: 1,
  description:
    'Your current password. With it, the session does not have to be fresh, unless you use two-factor authentication.',
});

export const userSchemas = collectionSchemas({
  one: 'User',
  many: 'Users',
  properties: userProperties,
  input,
  updateOnly: { current_password: Type.Optional(currentPassword) },
  key: Uuid('Identifier of the user.'),
  description: 'A user, with the requested fields.',
  example,
  filterExample: { status: { _eq: 'active' }, role: { name: { _eq: 'Editors' } } },
  inputExample: { email: 'ada@example.com', password: 'correct horse battery staple', first_name: 'Ada' },
});

/** The body of `POST /users/me/password`. */
export const ChangeMyPasswordBody = named(
  'ChangeMyPasswordBody',
  Type.Object(
    {
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'The new password.' }),
      current_password: Type.Optional(currentPassword),
    },
    {
      additionalProperties: false,
      examples: [{ password: 'correct horse battery staple', current_password: 'my previous password' }],
    },
  ),
);

/** The response to an update, with the address that is waiting for confirmation if the update requested a new one. */
export const UserUpdateResponse = named(
  'UserUpdateResponse',
  withMeta(
    named('UpdatedUser', {
      ...Type.Partial(
        Closed(
          {
            ...orHidden(userProperties),
            pending_email: text(
              'Your new address, until it is confirmed. Only in the response to an update that contains `email`.',
            ),
          },
          { description: 'The updated user, with the requested fields.' },
        ),
      ),
      examples: [example],
    }),
    example,
  ),
);

/** The description of updates of the caller's own address. */
export const ownEmailChange =
  'If you change your own `email` and are not an administrator, the address changes when you confirm it through the link in an email to the new address. Until then, responses contain the old address and `pending_email`. The response is the same if the address is taken. With `EMAIL_CHANGE_CONFIRMATION=false`, the address changes immediately.';

export const TrackPageBody = named(
  'TrackPageBody',
  Type.Object(
    { last_page: Type.String({ minLength: 1, description: 'The path of the page, up to 255 characters.' }) },
    { description: 'The current page.', examples: [{ last_page: '/home' }] },
  ),
);

const writeErrors = [
  'INVALID_QUERY',
  'FAILED_VALIDATION',
  'RECORD_NOT_UNIQUE',
  'INVALID_FOREIGN_KEY',
  'VALUE_TOO_LONG',
  'NOT_NULL_VIOLATION',
] as const;

export const userWriteErrors = {
  create: [...writeErrors, 'REAUTHENTICATION_REQUIRED'],
  update: [...writeErrors, 'REAUTHENTICATION_REQUIRED', 'UNPROCESSABLE_CONTENT'],
  remove: ['INVALID_QUERY', 'UNPROCESSABLE_CONTENT'],
} as const satisfies WriteErrors;
