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
  id: Uuid('The unique ID of the user.'),
  first_name: text('The first name.'),
  last_name: text('The last name.'),
  email: text('The email address. Must be unique, ignoring letter case.'),
  location: text("The user's location."),
  title: text("The user's title or position."),
  description: text('A description of the user.'),
  tags: Nullable(Type.Array(Type.String(), { description: "The user's tags." })),
  avatar: text("The user's picture: the ID of a file, or an https URL."),
  language: text("The user's language, as a BCP 47 tag."),
  tfa_secret: concealed('The two-factor authentication secret.'),
  status: Type.Union(
    userStatuses.map((status) => Type.Literal(status)),
    { description: "The user's status. Only `active` users can log in." },
  ),
  role: Related("The ID of the user's role.", 'Role'),
  token: concealed('The static token.'),
  policies: RelatedList(Uuid('The ID of a policy.'), 'Policy', 'The policies that are assigned directly to the user.'),
  last_access: Nullable(Timestamp('When the user last used the API.')),
  last_page: text('The last page of the application that the user visited.'),
  provider: Type.String({
    description: 'The provider that the user logs in with. `default` means email and password.',
  }),
  external_identifier: text("The user's ID at the provider."),
  auth_data: json('The data about the user that the provider sent.'),
  email_notifications: Type.Boolean({
    description: 'Whether the user receives notifications by email. This field does not affect security notices.',
  }),
  appearance: text('The color scheme: `auto`, `light`, or `dark`.'),
  theme_dark: text('The theme in dark mode.'),
  theme_light: text('The theme in light mode.'),
  theme_light_overrides: json('The customizations of the light theme.'),
  theme_dark_overrides: json('The customizations of the dark theme.'),
  created_at: Timestamp('When the user was created. Read-only.'),
  email_verified_at: Nullable(
    Timestamp(
      'When the user last proved that they can read emails sent to `email`. Null if they never have, or if an administrator has changed the address since then. Read-only.',
    ),
  ),
};

/** A stored field that a response contains only if the query names it. */
const onlyByName = {
  invite_expires_at: Nullable(
    Timestamp(
      'Until when the user can accept the latest invitation. If the email was delayed, its link works longer. Null if the user has no invitation that can be accepted, for example because they have accepted it or because their address has changed. Returned only if you request it by name. Read-only.',
    ),
  ),
};

/** Fields of a user that a response contains only if the query names them. */
const onRequest = {
  locked_until: Nullable(
    Timestamp(
      'Until when logins are refused after too many wrong passwords or codes. Null if the user is not locked. Returned only if you request it by name. Requires permission to read `activity`, and all of the rights that the user has; otherwise, it is null.',
    ),
  ),
  has_password: Nullable(
    Type.Boolean({
      description: 'Whether the user has a password. The conditions for `locked_until` apply.',
    }),
  ),
  last_failure: Nullable(
    Closed(
      {
        timestamp: Timestamp('When the login was refused.'),
        code: Nullable(Type.String({ description: 'The error code that the client received.' })),
        reason: Nullable(
          Type.String({
            description: 'Why it was refused, as in the audit log, such as `wrong_password` or `locked`.',
          }),
        ),
      },
      { description: 'The last login that was refused. The conditions for `locked_until` apply.' },
    ),
  ),
};

const optional = (schema: Parameters<typeof Type.Array>[0]) => Type.Optional(schema);
const limited = (maxLength: number, description: string) => optional(Nullable(Type.String({ maxLength, description })));
const object = (description: string) => optional(json(description));

/** The writable fields of a user. */
const input = Type.Object(
  {
    id: optional(Uuid('The ID of the new user. Generated by default. Ignored in updates.')),
    email: Email('The email address. Must be unique, ignoring letter case.'),
    password: optional(
      Nullable(Type.String({ minLength: 1, maxLength: 1024, description: 'The password. It is never returned.' })),
    ),
    first_name: limited(50, 'The first name.'),
    last_name: limited(50, 'The last name.'),
    location: limited(255, "The user's location."),
    title: limited(50, "The user's title or position."),
    description: limited(10_000, 'A description of the user.'),
    tags: optional(
      Nullable(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100, description: "The user's tags." })),
    ),
    avatar: limited(255, "The user's picture: the ID of a file, or an https URL."),
    language: limited(255, "The user's language, as a BCP 47 tag."),
    status: optional(
      Type.Union(
        userStatuses.map((status) => Type.Literal(status)),
        { description: "The user's status." },
      ),
    ),
    role: optional(Nullable(Uuid("The ID of the user's role. Only administrators can set it."))),
    policies: optional(
      Type.Array(Uuid('The ID of a policy.'), {
        description: 'The IDs of the policies. Only administrators can set them.',
      }),
    ),
    token: optional(
      Nullable(
        Type.String({
          minLength: 32,
          maxLength: 255,
          description: 'The static token. Only administrators can set the token of another user.',
        }),
      ),
    ),
    last_access: optional(Nullable(Timestamp('When the user last used the API. Only administrators can set it.'))),
    last_page: limited(255, 'The last page of the application that the user visited.'),
    provider: optional(
      Type.String({
        maxLength: 128,
        description: 'The provider that the user logs in with. Only administrators can set it.',
      }),
    ),
    external_identifier: limited(255, "The user's ID at the provider. Only administrators can set it."),
    auth_data: object(
      'The data about the user that the provider sent. At most 64 KB as JSON. Only administrators can set it.',
    ),
    email_notifications: optional(
      Type.Boolean({
        description: 'Whether the user receives notifications by email. This field does not affect security notices.',
      }),
    ),
    appearance: limited(255, 'The color scheme: `auto`, `light`, or `dark`.'),
    theme_dark: limited(255, 'The theme in dark mode.'),
    theme_light: limited(255, 'The theme in light mode.'),
    theme_light_overrides: object('The customizations of the light theme. At most 16 KB as JSON.'),
    theme_dark_overrides: object('The customizations of the dark theme. At most 16 KB as JSON.'),
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
    'Your current password. If you include it, the session does not have to be fresh, unless you use two-factor authentication.',
});

export const userSchemas = collectionSchemas({
  one: 'User',
  many: 'Users',
  properties: { ...userProperties, ...onlyByName },
  onRequest,
  input,
  updateOnly: { current_password: Type.Optional(currentPassword) },
  key: Uuid('The ID of the user.'),
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

const UpdatedUser = named('UpdatedUser', {
  ...Type.Partial(
    Closed(
      {
        ...orHidden({ ...userProperties, ...onlyByName }),
        ...onRequest,
        pending_email: text('Your new address, until you confirm it. Returned only by updates that contain `email`.'),
      },
      { description: 'The updated user, with the requested fields.' },
    ),
  ),
  examples: [example],
});

/** The responses to updates, with the address that is waiting for confirmation if the update requested a new one. */
export const UserUpdateResponse = named('UserUpdateResponse', withMeta(UpdatedUser, example));
export const UsersUpdateResponse = named('UsersUpdateResponse', withMeta(Type.Array(UpdatedUser), [example]));

const confirmedAddress =
  'If you change your own `email` and are not an administrator, the service sends a confirmation link to the new address, and the change takes effect when you open the link and confirm. Until then, responses contain the old address in `email` and the new one in `pending_email`. The response is the same if the new address is already in use. With `EMAIL_CHANGE_CONFIRMATION=false`, the change takes effect immediately.';

/** What is special about updates of the caller's own user, for the descriptions of these operations. */
export const ownSignInChanges = {
  one: `To change your own password, email address, or static token, you need a fresh session or, if you do not use two-factor authentication, \`current_password\`. You cannot change them with a static token. ${confirmedAddress}`,
  many: `To change your own password, email address, or static token, you need a fresh session. You cannot change them with a static token. ${confirmedAddress}`,
};

export const TrackPageBody = named(
  'TrackPageBody',
  Type.Object(
    { last_page: Type.String({ minLength: 1, description: 'The path of the page. At most 255 characters.' }) },
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
