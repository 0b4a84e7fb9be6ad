import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Uuid } from './common.js';
import { NameList } from './item-requests.js';

const properties = {
  project_name: Type.String({ minLength: 1, maxLength: 100, description: 'The name of the project.' }),
  project_color: Nullable(Type.String({ maxLength: 50, description: 'The project color, as a CSS color.' })),
  project_logo: Nullable(Type.String({ maxLength: 2000, description: 'The URL of the project logo.' })),
  default_language: Type.String({
    minLength: 2,
    maxLength: 255,
    description: 'The language for users who have not set one, as a BCP 47 tag.',
  }),
  public_registration: Type.Boolean({ description: 'Whether users can register.' }),
  public_registration_verify_email: Type.Boolean({
    description: 'Whether users who register must verify their email address.',
  }),
  public_registration_role: Nullable(
    Uuid('The ID of the role that is assigned to users who register. Only administrators can change this setting.'),
  ),
  public_registration_email_filter: Nullable(
    Type.Object(
      {},
      { additionalProperties: true, description: 'Only users whose email address matches this filter can register.' },
    ),
  ),
  public_policy: Nullable(
    Uuid(
      'The ID of the policy for anonymous callers and users without a role. Only administrators can change this setting.',
    ),
  ),
  auth_password_policy: Nullable(
    Type.String({
      maxLength: 1000,
      description: 'A regular expression that new passwords must match. Only administrators can change this setting.',
    }),
  ),
  auth_login_attempts: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description:
        'The number of failed logins after which an account is temporarily locked. Null if logins are never locked. Guesses of signed-in callers are always limited.',
    }),
  ),
  self_service: Type.Boolean({
    description:
      'Whether users who are not administrators can change their profile, email address, and passkeys, export their data, and, if `self_deletion` is on, delete their account. Only administrators can change this setting.',
  }),
  self_deletion: Type.Boolean({
    description: 'Whether users can delete their own account. Only administrators can change this setting.',
  }),
  email_login: Type.Boolean({
    description:
      'Whether users can log in with a code or a link from an email. Only administrators can change this setting.',
  }),
  unregistered_clients: Type.Union([Type.Literal('off'), Type.Literal('listed'), Type.Literal('any')], {
    description:
      'Which clients can identify themselves with the https URL of their own metadata, without being registered (Client ID Metadata Documents): none (`off`), those whose host is in `unregistered_client_hosts` (`listed`), or all (`any`). Only administrators can change this setting.',
  }),
  unregistered_client_hosts: Type.Array(Type.String({ maxLength: 260 }), {
    maxItems: 200,
    description:
      'The hosts that `listed` allows, such as `app.example.com`, or `app.example.com:8443` for another port than 443. Only administrators can change this setting.',
  }),
};

export type SettingName = keyof typeof properties;
export const settingNames = Object.keys(properties) as SettingName[];

export const Settings = named(
  'Settings',
  Type.Partial(Closed(properties, { description: 'The settings that you can read.' })),
);

export const SettingsQuery = Type.Object({
  fields: NameList('fields', {
    description: 'The settings to return. By default, all settings that you can read.',
    examples: [['project_name', 'default_language']],
  }),
});

export const SettingsResponse = named(
  'SettingsResponse',
  Data(Settings, { project_name: 'Gatehouse', default_language: 'en-US', public_registration: false }),
);

export const SettingsInput = named('SettingsInput', {
  ...Type.Partial(Closed(properties)),
  examples: [{ project_name: 'Gatehouse', public_registration: true }],
});
export type SettingsInput = Static<typeof SettingsInput>;
