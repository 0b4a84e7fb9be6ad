import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Email, Nullable, named, Timestamp, Uuid } from './common.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';

const text = (description: string) => Nullable(Type.String({ description }));
const picture = 'Picture of the user.';

/** What users can read of their own account without any permissions. */
export const Profile = named(
  'Profile',
  Closed(
    {
      id: Uuid('Identifier of the user.'),
      email: text('Email address.'),
      email_verified: Type.Boolean({
        description: 'Whether the user has verified `email`.',
      }),
      pending_email: text('The new address, while a change of address is waiting for confirmation.'),
      first_name: text('First name.'),
      last_name: text('Last name.'),
      avatar: text(`${picture} The ID of a file, or an https URL.`),
      language: text('Language of the user, as a BCP 47 tag.'),
      role: Nullable(
        Closed(
          {
            id: Uuid('Identifier of the role.'),
            name: Type.String({ description: 'Name of the role.' }),
          },
          { description: 'The role of the user.' },
        ),
      ),
      created_at: Timestamp('When the user was created.'),
      last_access: Nullable(Timestamp('When the user last used the API.')),
      has_password: Type.Boolean({ description: 'Whether the user can sign in with a password.' }),
      tfa_enabled: Type.Boolean({ description: 'Whether two-factor authentication is on.' }),
      recovery_codes_left: Type.Integer({ minimum: 0, description: 'The number of unused recovery codes.' }),
      passkeys: Type.Integer({ minimum: 0, description: 'Number of passkeys.' }),
      providers: Type.Array(Type.String(), { description: 'Keys of the providers with a linked account.' }),
    },
    { description: 'Your own account.' },
  ),
);
export type Profile = Static<typeof Profile>;

const exampleProfile = {
  id: '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21',
  email: 'ada@example.com',
  email_verified: true,
  pending_email: null,
  first_name: 'Ada',
  last_name: 'Lovelace',
  avatar: null,
  language: 'en-GB',
  role: { id: '2f24211d-d928-469a-aea3-3c8f53d4e426', name: 'Member' },
  created_at: '2026-01-12T08:00:00.000Z',
  last_access: '2026-01-31T09:26:53.000Z',
  has_password: true,
  tfa_enabled: false,
  recovery_codes_left: 0,
  passkeys: 0,
  providers: ['google'],
};

export const ProfileResponse = named('ProfileResponse', Data(Profile, exampleProfile));

/** The service checks the lengths, because they have a separate error code. */
export const ProfileChanges = named(
  'ProfileChanges',
  Type.Partial(
    Closed(
      {
        first_name: text('First name, at most 50 characters.'),
        last_name: text('Last name, at most 50 characters.'),
        language: text('Language as a BCP 47 tag, at most 255 characters.'),
        avatar: text(`${picture} An https URL of at most 255 characters, or null.`),
      },
      { description: 'The fields to change.', examples: [{ first_name: 'Ada', language: 'en-GB' }] },
    ),
  ),
);
export type ProfileChanges = Static<typeof ProfileChanges>;

export const EmailChangeBody = named(
  'EmailChangeBody',
  Closed({ email: Email('The new email address.') }, { examples: [{ email: 'ada@example.org' }] }),
);

export const EmailConfirmBody = named(
  'EmailConfirmBody',
  Closed({ token: LinkToken('The token from the link.') }, { examples: [{ token: exampleLinkToken }] }),
);

const json = (description: string) => Nullable(Type.Object({}, { additionalProperties: true, description }));
const namedItem = (description: string) =>
  Closed({ id: Uuid('Identifier.'), name: Type.String({ description: 'Name.' }) }, { description });

/** All data that is stored about a user, without secrets. */
export const AccountExport = named(
  'AccountExport',
  Closed(
    {
      exported_at: Timestamp('When the export was created.'),
      user: Closed(
        {
          id: Uuid('Identifier of the user.'),
          email: text('Email address.'),
          email_verified_at: Nullable(Timestamp('When the address was last verified.')),
          first_name: text('First name.'),
          last_name: text('Last name.'),
          location: text('The current page.'),
          title: text('Title or position.'),
          description: text('About the user.'),
          tags: Nullable(Type.Array(Type.String(), { description: 'Tags.' })),
          avatar: text(picture),
          language: text('Language of the user.'),
          status: Type.String({ description: 'Status.' }),
          role: Nullable(namedItem('The role of the user.')),
          policies: Type.Array(namedItem('A policy.'), { description: 'Policies assigned directly to the user.' }),
          created_at: Timestamp('When the user was created.'),
          last_access: Nullable(Timestamp('When the user last used the API.')),
          last_page: text('The last page of the application that the user was on.'),
          provider: Type.String({ description: 'The provider that the user signs in with.' }),
          external_identifier: text('Identifier of the user at that provider.'),
          auth_data: json('Data about the user from that provider.'),
          email_notifications: Type.Boolean({ description: 'Whether the user gets notifications by email.' }),
          appearance: text('`auto`, `light` or `dark`.'),
          theme_dark: text('Theme in dark mode.'),
          theme_light: text('Theme in light mode.'),
          theme_light_overrides: json('Customization of the light theme.'),
          theme_dark_overrides: json('Customization of the dark theme.'),
          has_password: Type.Boolean({ description: 'Whether a password is set. Only its hash is stored.' }),
          has_token: Type.Boolean({ description: 'Whether a static token is set. Only its hash is stored.' }),
          token_set_at: Nullable(Timestamp('When the static token was set.')),
          tfa_enabled: Type.Boolean({ description: 'Whether two-factor authentication is on.' }),
          recovery_codes_left: Type.Integer({ minimum: 0, description: 'The number of unused recovery codes.' }),
        },
        { description: 'The user.' },
      ),
      pending_email_change: Nullable(
        Closed(
          {
            email: Type.String({ description: 'The new address.' }),
            created_at: Timestamp('When it was requested.'),
            expires_at: Timestamp('When the request expires.'),
          },
          { description: 'A change of address that is waiting for confirmation.' },
        ),
      ),
      identities: Type.Array(
        Closed({
          id: Uuid('Identifier of the identity.'),
          provider: Type.String({ description: 'Key of the provider.' }),
          external_identifier: Type.String({ description: 'Identifier of the user at the provider.' }),
          email: text('Email address at the provider.'),
          primary: Type.Boolean({ description: 'Whether `provider` of the user refers to this account.' }),
          created_at: Timestamp('When it was first used or linked.'),
          last_used_at: Nullable(Timestamp('When the user last signed in with it.')),
        }),
        { description: 'Linked accounts.' },
      ),
      sessions: Type.Array(
        Closed({
          id: Uuid('Identifier of the session.'),
          created_at: Timestamp('When the session started.'),
          authenticated_at: Timestamp('When the user last proved their identity in it.'),
          last_used_at: Timestamp('When it was last used.'),
          expires_at: Timestamp('When it ends.'),
          ip: text('The address that it was last refreshed from.'),
          user_agent: text('The user agent of the client.'),
        }),
        { description: 'Active sessions, most recently used first, up to 1000.' },
      ),
      known_networks: Type.Array(
        Closed({
          network: Type.String({ description: 'An IPv4 address, or a /64 network of IPv6.' }),
          last_login_at: Timestamp('When the user last signed in from there.'),
        }),
        { description: 'Networks that the user has signed in from, up to 1000.' },
      ),
      activity: Type.Array(
        Closed({
          id: Uuid('Identifier of the row.'),
          timestamp: Timestamp('When it happened.'),
          action: Type.String({ description: 'Your action.' }),
          outcome: Type.String({ description: 'Whether the action succeeded or was refused.' }),
          code: text('The error code, if the request was refused.'),
          collection: text('The collection of the affected item.'),
          item: text('The ID of the affected item.'),
          ip: text('The IP address of the client.'),
          user_agent: text('The user agent of the client.'),
          changed: Nullable(Type.Array(Type.String(), { description: 'The names of the changed fields.' })),
        }),
        { description: 'Your actions in the audit log, newest first, up to 1000.' },
      ),
    },
    { description: 'All data that is stored about you, without secrets.' },
  ),
);
export type AccountExport = Static<typeof AccountExport>;

const example = {
  exported_at: '2026-01-31T09:30:00.000Z',
  user: {
    ...{ id: exampleProfile.id, email: 'ada@example.com', email_verified_at: '2026-01-12T08:04:31.000Z' },
    ...{ first_name: 'Ada', last_name: 'Lovelace', location: null, title: 'Analyst', description: null, tags: null },
    ...{ avatar: null, language: 'en-GB', status: 'active', role: exampleProfile.role, policies: [] },
    ...{ created_at: exampleProfile.created_at, last_access: exampleProfile.last_access, last_page: null },
    ...{ provider: 'default', external_identifier: null, auth_data: null, email_notifications: true },
    ...{ appearance: null, theme_dark: null, theme_light: null, theme_light_overrides: null },
    ...{ theme_dark_overrides: null, has_password: true, has_token: false, token_set_at: null },
    ...{ tfa_enabled: false, recovery_codes_left: 0 },
  },
  pending_email_change: null,
  identities: [],
  sessions: [],
  known_networks: [{ network: '192.0.2.7', last_login_at: '2026-01-31T09:26:53.000Z' }],
  activity: [],
};

export const AccountExportResponse = named('AccountExportResponse', Data(AccountExport, example));
