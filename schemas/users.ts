import { Type } from '@sinclair/typebox';
import { collectionSchemas } from './collections.js';
import { Email, Nullable, named, Timestamp, Uuid } from './common.js';
import type { WriteErrors } from './errors.js';
import { Related, RelatedList } from './query.js';

/** The status vocabulary (contract 4). Only an `active` user logs in or uses any token. */
export const userStatuses = ['draft', 'invited', 'unverified', 'active', 'suspended', 'archived'] as const;

const text = (description: string) => Nullable(Type.String({ description }));
const concealed = (description: string) =>
  Nullable(Type.String({ description: `${description} Concealed: ten asterisks when set.`, examples: ['**********'] }));
const json = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }));

/** What a user looks like in a response (contract 2.8). The password is not among it and never will be. */
export const userProperties = {
  id: Uuid('Unique identifier of the user.'),
  first_name: text('First name.'),
  last_name: text('Last name.'),
  email: text('E-mail address; unique in any letter case.'),
  location: text('Where the user is.'),
  title: text('Title or position.'),
  description: text('About the user.'),
  tags: Nullable(Type.Array(Type.String(), { description: 'Tags.' })),
  avatar: Nullable(Uuid('Identifier of the picture of the user.')),
  language: text('Language of the user, as a BCP 47 tag.'),
  tfa_secret: concealed('The secret of two-factor authentication.'),
  status: Type.Union(
    userStatuses.map((status) => Type.Literal(status)),
    { description: 'Status; only `active` users log in.' },
  ),
  role: Related(Uuid('Identifier of the role of the user.'), 'Role'),
  token: concealed('The static token.'),
  policies: RelatedList(Uuid('Identifier of a policy.'), 'Policy', 'The policies of the user’s own.'),
  last_access: Nullable(Timestamp('When the user last used the API.')),
  last_page: text('The last page of the application that the user was on.'),
  provider: Type.String({ description: 'The provider that the user logs in with; `default` is e-mail and password.' }),
  external_identifier: text('Identifier of the user at the provider.'),
  auth_data: json('Data about the user from the provider.'),
  email_notifications: Type.Boolean({
    description: 'Whether the user gets notifications by e-mail. Security notices are sent regardless.',
  }),
  appearance: text('`auto`, `light` or `dark`.'),
  theme_dark: text('Theme in dark mode.'),
  theme_light: text('Theme in light mode.'),
  theme_light_overrides: json('Customisation of the light theme.'),
  theme_dark_overrides: json('Customisation of the dark theme.'),
};

const optional = (schema: Parameters<typeof Type.Array>[0]) => Type.Optional(schema);
const limited = (maxLength: number, description: string) => optional(Nullable(Type.String({ maxLength, description })));
const object = (description: string) => optional(json(description));

/** What can be written of a user (contract 2.9, 4). */
const input = Type.Object(
  {
    id: optional(Uuid('Identifier for the new user; made when it is not given. Ignored in updates.')),
    email: Email('E-mail address; unique in any letter case.'),
    password: optional(
      Nullable(Type.String({ minLength: 1, maxLength: 1024, description: 'The password. Never answered.' })),
    ),
    first_name: limited(50, 'First name.'),
    last_name: limited(50, 'Last name.'),
    location: limited(255, 'Where the user is.'),
    title: limited(50, 'Title or position.'),
    description: optional(Nullable(Type.String({ description: 'About the user.' }))),
    tags: optional(Nullable(Type.Array(Type.String(), { description: 'Tags.' }))),
    avatar: optional(Nullable(Uuid('Identifier of the picture of the user.'))),
    language: limited(255, 'Language of the user, as a BCP 47 tag.'),
    status: optional(
      Type.Union(
        userStatuses.map((status) => Type.Literal(status)),
        { description: 'Status.' },
      ),
    ),
    role: optional(Nullable(Uuid('Identifier of the role. For administrators only.'))),
    policies: optional(
      Type.Array(Uuid('Identifier of a policy.'), { description: 'Policies. For administrators only.' }),
    ),
    token: limited(255, 'Static token. Of other users for administrators only.'),
    last_access: optional(Nullable(Timestamp('When the user last used the API.'))),
    last_page: limited(255, 'The last page of the application that the user was on.'),
    provider: optional(Type.String({ maxLength: 128, description: 'Provider. For administrators only.' })),
    external_identifier: limited(255, 'Identifier of the user at the provider. For administrators only.'),
    auth_data: object('Data about the user from the provider.'),
    email_notifications: optional(
      Type.Boolean({
        description: 'Whether the user gets notifications by e-mail. Security notices are sent regardless.',
      }),
    ),
    appearance: limited(255, '`auto`, `light` or `dark`.'),
    theme_dark: limited(255, 'Theme in dark mode.'),
    theme_light: limited(255, 'Theme in light mode.'),
    theme_light_overrides: object('Customisation of the light theme.'),
    theme_dark_overrides: object('Customisation of the dark theme.'),
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
};

/** Users on the wire (contract 2.8 to 2.11). */
export const userSchemas = collectionSchemas({
  one: 'User',
  many: 'Users',
  properties: userProperties,
  input,
  key: Uuid('Identifier of the user.'),
  description: 'A user, with the fields that were asked for.',
  example,
  inputExample: { email: 'ada@example.com', password: 'correct horse battery staple', first_name: 'Ada' },
});

/** The page that an application notes for a user (operation 23). */
export const TrackPageBody = named(
  'TrackPageBody',
  Type.Object(
    { last_page: Type.String({ minLength: 1, description: 'Path of the page, at most 255 characters.' }) },
    { description: 'Where the user is.', examples: [{ last_page: '/home' }] },
  ),
);

const writeErrors = [
  'INVALID_QUERY',
  'FORBIDDEN',
  'FAILED_VALIDATION',
  'RECORD_NOT_UNIQUE',
  'INVALID_FOREIGN_KEY',
  'VALUE_TOO_LONG',
  'NOT_NULL_VIOLATION',
] as const;

export const userWriteErrors = {
  create: writeErrors,
  update: [...writeErrors, 'UNPROCESSABLE_CONTENT'],
  remove: ['INVALID_QUERY', 'FORBIDDEN', 'UNPROCESSABLE_CONTENT'],
} as const satisfies WriteErrors;
