import { FormatRegistry, type StaticDecode, Type } from '@sinclair/typebox';
import { isObject, uuidPattern } from './common.js';
import { choice, flag, text, urlList } from './config.js';

const url = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s#]+$',
      format: 'url',
      expected: 'an http:// or https:// URL without a fragment',
      description,
    }),
  );

/** A JSON object of texts; decoded to its entries in the order in which they are written, which `JSON.parse` does not keep of numbers. */
const record = (format: string, expected: string, description: string) =>
  Type.Transform(Type.String({ format, default: '{}', expected, description }))
    .Decode((value): readonly (readonly [key: string, value: string])[] =>
      [...value.matchAll(/("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*")/g)].map(
        ([, key = '""', item = '""']) => [JSON.parse(key), JSON.parse(item)] as const,
      ),
    )
    .Encode((entries) => JSON.stringify(Object.fromEntries(entries)));

const isRecord = (value: string, isGood: (key: string, value: string) => boolean): boolean => {
  try {
    const parsed: unknown = JSON.parse(value);
    return (
      isObject(parsed) && Object.entries(parsed).every(([key, item]) => typeof item === 'string' && isGood(key, item))
    );
  } catch {
    return false;
  }
};

/** What the service itself puts into a request to a provider: safety hangs on it. */
const ownParameters = new Set([
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
]);

FormatRegistry.Set('parameters', (value) => isRecord(value, (key) => !ownParameters.has(key)));
FormatRegistry.Set('role-mapping', (value) => isRecord(value, (_group, role) => uuidPattern.test(role)));

/**
 * The variables of one provider (contract 2.5), each to be written `AUTH_<PROVIDER>_<NAME>`: the provider in capitals, `_`
 * for `-`. For Google, GitHub, Microsoft and GitLab there are presets, taken by a provider of that name.
 */
export const ProviderVariables = Type.Object({
  DRIVER: choice(['openid', 'oauth2'], {
    description: 'Which protocol the provider speaks. Take `openid` (OpenID Connect) where it is offered.',
  }),
  CLIENT_ID: text({ description: 'Client id that the provider gave to the service.' }),
  CLIENT_SECRET: text({ secret: true, description: 'Client secret that the provider gave to the service.' }),
  MODE: choice(['session', 'cookie', 'json'], {
    default: 'session',
    description:
      'Mode of the sessions that begin with it. When the browser is redirected at the end, there is no body, and `json` works as `cookie`.',
  }),
  LABEL: Type.Optional(text({ description: 'Name for people to read.' })),
  ICON: Type.Optional(text({ description: 'Name or URL of an icon, for clients to show.' })),
  ISSUER_URL: url('`openid`: the issuer, or the address of its discovery document.'),
  AUTHORIZE_URL: url('`oauth2`: where users are sent to.'),
  ACCESS_URL: url('`oauth2`: where codes are exchanged for tokens.'),
  PROFILE_URL: url('`oauth2`: where the profile of the user is read.'),
  EMAILS_URL: url('`oauth2`: where the addresses of the user are read, when the profile has none (as with GitHub).'),
  SCOPE: Type.Optional(
    text({ description: 'Scopes to ask for. Default: `openid profile email`; with `oauth2`, `email`.' }),
  ),
  PARAMS: record(
    'parameters',
    'a JSON object of texts, without parameters that the service sets itself',
    'Further parameters of the URL that users are sent to, as JSON: `{"prompt": "select_account"}`.',
  ),
  IDENTIFIER_KEY: Type.Optional(
    text({ description: 'Which entry of the profile identifies the user. Default: `sub`; with `oauth2`, `id`.' }),
  ),
  EMAIL_KEY: text({ default: 'email', description: 'Which entry of the profile is the e-mail address.' }),
  FIRST_NAME_KEY: Type.Optional(
    text({ description: 'Which entry is the first name. Default: `given_name`; with `oauth2`, `first_name`.' }),
  ),
  LAST_NAME_KEY: Type.Optional(
    text({ description: 'Which entry is the last name. Default: `family_name`; with `oauth2`, `last_name`.' }),
  ),
  ALLOW_PUBLIC_REGISTRATION: flag({
    default: false,
    description: 'Whether somebody who logs in for the first time becomes a user. Otherwise only known users log in.',
  }),
  REQUIRE_VERIFIED_EMAIL: flag({
    default: false,
    description: 'Whether a new user must have an e-mail address that the provider says is verified.',
  }),
  DEFAULT_ROLE_ID: Type.Optional(
    Type.String({
      format: 'uuid',
      expected: 'the id of a role',
      description:
        'Role of users who are made by a first login here. Unset: none, so they may do nothing but what the public policy allows.',
    }),
  ),
  SYNC_USER_INFO: flag({
    default: false,
    description: 'Whether names and e-mail address follow the provider at every login.',
  }),
  ROLE_MAPPING: record(
    'role-mapping',
    'a JSON object of role ids, by group',
    'Roles by group, as JSON: `{"admins": "<role id>"}`. The first group that the user is in counts, at every login. A user who has one of these roles but is in none of the groups any more falls back to DEFAULT_ROLE_ID.',
  ),
  GROUP_CLAIM_NAME: text({ default: 'groups', description: 'Which entry of the profile lists the groups.' }),
  REDIRECT_ALLOW_LIST: urlList('`redirect`'),
});

/** One provider as the code sees it. */
export type ProviderConfig = StaticDecode<typeof ProviderVariables> & { key: string } & Required<
    Pick<StaticDecode<typeof ProviderVariables>, 'SCOPE' | 'IDENTIFIER_KEY' | 'FIRST_NAME_KEY' | 'LAST_NAME_KEY'>
  >;
