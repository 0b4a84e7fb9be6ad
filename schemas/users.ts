import { Type } from '@sinclair/typebox';
import { Closed, Email, Nullable, named, Timestamp, Uuid } from './common.js';
import { Related, RelatedList } from './query.js';

/** The status vocabulary (contract 4). Only an `active` user logs in or uses any token. */
export const userStatuses = ['draft', 'invited', 'unverified', 'active', 'suspended', 'archived'] as const;

const text = (description: string) => Nullable(Type.String({ description }));
const concealed = (description: string) =>
  Nullable(Type.String({ description: `${description} Concealed: ten asterisks when set.`, examples: ['**********'] }));
const json = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }));

/** What a user looks like in a response (contract 2.8). The password is not among it and never will be. */
const userProperties = {
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
  email_notifications: Type.Boolean({ description: 'Whether the user gets notifications by e-mail.' }),
  appearance: text('`auto`, `light` or `dark`.'),
  theme_dark: text('Theme in dark mode.'),
  theme_light: text('Theme in light mode.'),
  theme_light_overrides: json('Customisation of the light theme.'),
  theme_dark_overrides: json('Customisation of the dark theme.'),
};

/** A user, as far as fields were asked for and may be read. */
export const User = named(
  'User',
  Type.Partial(Closed(userProperties, { description: 'A user, with the fields that were asked for.' })),
);

const optional = (schema: Parameters<typeof Type.Array>[0]) => Type.Optional(schema);
const limited = (maxLength: number, description: string) => optional(Nullable(Type.String({ maxLength, description })));
const object = (description: string) => optional(json(description));

/** What can be written of a user (contract 2.9, 4). */
export const UserInput = Type.Object(
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
    email_notifications: optional(Type.Boolean({ description: 'Whether the user gets notifications by e-mail.' })),
    appearance: limited(255, '`auto`, `light` or `dark`.'),
    theme_dark: limited(255, 'Theme in dark mode.'),
    theme_light: limited(255, 'Theme in light mode.'),
    theme_light_overrides: object('Customisation of the light theme.'),
    theme_dark_overrides: object('Customisation of the dark theme.'),
  },
  { additionalProperties: false },
);

/** The page that an application notes for a user (operation 23). */
export const TrackPageBody = named(
  'TrackPageBody',
  Type.Object({ last_page: Type.String({ minLength: 1, description: 'Path of the page, at most 255 characters.' }) }),
);
