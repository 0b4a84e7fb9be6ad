import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Uuid } from './common.js';

const properties = {
  project_name: Type.String({ minLength: 1, maxLength: 100, description: 'Name of the project.' }),
  project_color: Nullable(Type.String({ maxLength: 50, description: 'Colour of the project, as CSS has it.' })),
  project_logo: Nullable(Type.String({ maxLength: 2000, description: 'URL of the logo of the project.' })),
  default_language: Type.String({
    minLength: 2,
    maxLength: 255,
    description: 'Language of who has none, as a BCP 47 tag.',
  }),
  public_registration: Type.Boolean({ description: 'Whether anyone may register.' }),
  public_registration_verify_email: Type.Boolean({ description: 'Whether a registration is verified by e-mail.' }),
  public_registration_role: Nullable(Uuid('Role of those who register. For administrators only.')),
  public_registration_email_filter: Nullable(
    Type.Object(
      {},
      { additionalProperties: true, description: 'Filter that the e-mail address must match to register.' },
    ),
  ),
  public_policy: Nullable(Uuid('Policy of those who are not logged in or have no role. For administrators only.')),
  auth_password_policy: Nullable(
    Type.String({
      maxLength: 1000,
      description: 'Regular expression that new passwords must match. For administrators only.',
    }),
  ),
  auth_login_attempts: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Failed logins before an account is locked for a while; null: never.',
    }),
  ),
};

export type SettingName = keyof typeof properties;
export const settingNames = Object.keys(properties) as SettingName[];

/** The settings of the project, as far as they may be read (contract 5). */
export const Settings = named(
  'Settings',
  Type.Partial(Closed(properties, { description: 'The settings of the project, as far as the caller may read them.' })),
);

/** What a request about the settings may ask for. */
export const SettingsQuery = Type.Object({
  fields: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: 'The settings to return; all that may be read, unless it is given.',
      examples: ['project_name,default_language'],
    }),
  ),
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
