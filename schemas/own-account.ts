import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Email, Nullable, named, Timestamp, Uuid } from './common.js';
import { Grant } from './grants.js';
import { exampleLinkToken, LinkToken } from './link-tokens.js';
import { passkeyProperties } from './passkeys.js';
import { AuthenticationMethod } from './sessions.js';

const text = (description: string) => Nullable(Type.String({ description }));
const picture = "The user's picture.";

/** What users can read of their own account without any permissions. */
export const Profile = named(
  'Profile',
  Closed(
    {
      id: Uuid('The ID of the user.'),
      email: text('The email address.'),
      email_verified: Type.Boolean({
        description: 'Whether the user has verified `email`.',
      }),
      pending_email: text('The new address, if an email change is waiting for confirmation.'),
      first_name: text('The first name.'),
      last_name: text('The last name.'),
      avatar: text(`${picture} The ID of a file, or an https URL.`),
      language: text("The user's language, as a BCP 47 tag."),
      role: Nullable(
        Closed(
          {
            id: Uuid('The ID of the role.'),
            name: Type.String({ description: 'The name of the role.' }),
          },
          { description: "The user's role." },
        ),
      ),
      created_at: Timestamp('When the user was created.'),
      last_access: Nullable(Timestamp('When the user last used the API.')),
      has_password: Type.Boolean({ description: 'Whether the user can log in with a password.' }),
      tfa_enabled: Type.Boolean({ description: 'Whether two-factor authentication is turned on.' }),
      recovery_codes_left: Type.Integer({ minimum: 0, description: 'The number of unused recovery codes.' }),
      passkeys: Type.Integer({ minimum: 0, description: 'The number of passkeys.' }),
      providers: Type.Array(Type.String(), {
        description: 'The keys of the providers with which the user has linked accounts.',
      }),
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

/** The service checks the lengths, because values that are too long have a separate error code. */
export const ProfileChanges = named(
  'ProfileChanges',
  Type.Partial(
    Closed(
      {
        first_name: text('The first name. At most 50 characters.'),
        last_name: text('The last name. At most 50 characters.'),
        language: text('The language, as a BCP 47 tag. At most 255 characters.'),
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
  Closed({ id: Uuid('The ID.'), name: Type.String({ description: 'The name.' }) }, { description });

/** All data that is stored about a user, without secrets. */
export const AccountExport = named(
  'AccountExport',
  Closed(
    {
      exported_at: Timestamp('When the export was created.'),
      user: Closed(
        {
          id: Uuid('The ID of the user.'),
          email: text('The email address.'),
          email_verified_at: Nullable(Timestamp('When the email address was last verified.')),
          first_name: text('The first name.'),
          last_name: text('The last name.'),
          location: text("The user's location."),
          title: text("The user's title or position."),
          description: text('A description of the user.'),
          tags: Nullable(Type.Array(Type.String(), { description: "The user's tags." })),
          avatar: text(picture),
          language: text("The user's language, as a BCP 47 tag."),
          status: Type.String({ description: "The user's status." }),
          role: Nullable(namedItem("The user's role.")),
          policies: Type.Array(namedItem('A policy.'), {
            description: 'The policies that are assigned directly to the user.',
          }),
          created_at: Timestamp('When the user was created.'),
          last_access: Nullable(Timestamp('When the user last used the API.')),
          last_page: text('The last page of the application that the user visited.'),
          provider: Type.String({ description: 'The provider that the user logs in with.' }),
          external_identifier: text("The user's ID at that provider."),
          auth_data: json('The data about the user that the provider sent.'),
          email_notifications: Type.Boolean({ description: 'Whether the user receives notifications by email.' }),
          appearance: text('The color scheme: `auto`, `light`, or `dark`.'),
          theme_dark: text('The theme in dark mode.'),
          theme_light: text('The theme in light mode.'),
          theme_light_overrides: json('The customizations of the light theme.'),
          theme_dark_overrides: json('The customizations of the dark theme.'),
          has_password: Type.Boolean({ description: 'Whether a password is set. Only its hash is stored.' }),
          has_token: Type.Boolean({ description: 'Whether a static token is set. Only its hash is stored.' }),
          token_set_at: Nullable(Timestamp('When the static token was set.')),
          tfa_enabled: Type.Boolean({ description: 'Whether two-factor authentication is turned on.' }),
          recovery_codes_left: Type.Integer({ minimum: 0, description: 'The number of unused recovery codes.' }),
        },
        { description: 'The user.' },
      ),
      pending_email_change: Nullable(
        Closed(
          {
            email: Type.String({ description: 'The new address.' }),
            created_at: Timestamp('When the change was requested.'),
            expires_at: Timestamp('When the confirmation link expires.'),
          },
          { description: 'An email change that is waiting for confirmation.' },
        ),
      ),
      identities: Type.Array(
        Closed({
          id: Uuid('The ID of the linked account.'),
          provider: Type.String({ description: 'The key of the provider.' }),
          external_identifier: Type.String({ description: "The user's ID at the provider." }),
          email: text('The email address at the provider.'),
          primary: Type.Boolean({ description: "Whether the user's `provider` field refers to this account." }),
          created_at: Timestamp('When the account was first used or linked.'),
          last_used_at: Nullable(Timestamp('When the user last logged in with this account.')),
        }),
        { description: 'The linked provider accounts.' },
      ),
      passkeys: Type.Array(Closed(passkeyProperties), { description: 'The passkeys, without their public keys.' }),
      grants: Type.Array(Grant, {
        description:
          'The applications that have access to the account, including those of the project itself (`first_party`). At most 1000.',
      }),
      sessions: Type.Array(
        Closed({
          id: Uuid('The ID of the session.'),
          created_at: Timestamp('When the session started.'),
          authenticated_at: Timestamp('When the user last confirmed their identity in this session.'),
          amr: Type.Array(AuthenticationMethod, {
            description: 'How the user has confirmed their identity in this session, in alphabetical order.',
          }),
          last_used_at: Timestamp('When the session was last used.'),
          expires_at: Timestamp('When the session ends.'),
          ip: text('The IP address from which the session was last used.'),
          user_agent: text('The user agent of the client.'),
        }),
        { description: "The user's active sessions, most recently used first. At most 1000." },
      ),
      known_networks: Type.Array(
        Closed({
          network: Type.String({ description: 'An IPv4 address or an IPv6 /64 network.' }),
          last_login_at: Timestamp('When the user last logged in from this network.'),
        }),
        { description: 'The networks that the user has logged in from. At most 1000.' },
      ),
      known_devices: Type.Array(Type.String(), {
        description: 'The kinds of device that the user has logged in with, most recently used first. At most 10.',
      }),
      stored_responses: Type.Array(
        Closed({
          size: Type.Integer({ minimum: 0, description: 'The size of the stored response, in characters.' }),
          expires_at: Timestamp('When the response is deleted.'),
        }),
        {
          description:
            'The encrypted responses to requests with an `Idempotency-Key`, without their content. Those that expire last come first. At most 1000.',
        },
      ),
      activity: Type.Array(
        Closed({
          id: Uuid('The ID of the entry.'),
          timestamp: Timestamp('When the event occurred.'),
          action: Type.String({ description: 'The action.' }),
          outcome: Type.String({ description: 'Whether the action succeeded or was refused.' }),
          code: text('The error code, if the request was refused.'),
          collection: text('The collection of the affected item.'),
          item: text('The ID of the affected item.'),
          ip: text(
            'The IP address of the client, including that of an anonymous client whose sign-in was refused. Null if another user performed the action.',
          ),
          user_agent: text('The user agent of the client. Null if another user performed the action.'),
          changed: Nullable(Type.Array(Type.String(), { description: 'The names of the changed fields.' })),
        }),
        {
          description:
            "The audit log entries about you: your own actions, and other people's actions on your account, such as failed logins. Newest first, at most 1000.",
        },
      ),
    },
    { description: 'All data that is stored about you, except secrets.' },
  ),
);
export type AccountExport = Static<typeof AccountExport>;

const example = {
  exported_at: '2026-01-31T09:30:00.000Z',
  user: {
    id: exampleProfile.id,
    email: 'ada@example.com',
    email_verified_at: '2026-01-12T08:04:31.000Z',
    first_name: 'Ada',
    last_name: 'Lovelace',
    location: null,
    title: 'Analyst',
    description: null,
    tags: null,
    avatar: null,
    language: 'en-GB',
    status: 'active',
    role: exampleProfile.role,
    policies: [],
    created_at: exampleProfile.created_at,
    last_access: exampleProfile.last_access,
    last_page: null,
    provider: 'default',
    external_identifier: null,
    auth_data: null,
    email_notifications: true,
    appearance: null,
    theme_dark: null,
    theme_light: null,
    theme_light_overrides: null,
    theme_dark_overrides: null,
    has_password: true,
    has_token: false,
    token_set_at: null,
    tfa_enabled: false,
    recovery_codes_left: 0,
  },
  pending_email_change: null,
  identities: [],
  passkeys: [],
  grants: [],
  sessions: [],
  known_networks: [{ network: '192.0.2.7', last_login_at: '2026-01-31T09:26:53.000Z' }],
  known_devices: ['Firefox, Linux'],
  stored_responses: [],
  activity: [],
};

export const AccountExportResponse = named('AccountExportResponse', Data(AccountExport, example));
