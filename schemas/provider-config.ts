import { domainToASCII } from 'node:url';
import { FormatRegistry, type StaticDecode, Type } from '@sinclair/typebox';
import { isObject, uuidPattern } from './common.js';
import { choice, flag, listOf, separated, text, urlList } from './config-values.js';

const url = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s#]+$',
      format: 'url',
      expected: 'an http:// or https:// URL without a fragment',
      description,
    }),
  );

/** A JSON object of strings. Decoded to its entries in their written order, which `JSON.parse` does not keep for numeric keys. */
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

/** The form of a domain name in which it is compared: in lower case, and in ASCII (UTS 46). undefined: not a domain name */
export function asciiDomain(name: string): string | undefined {
  const ascii = domainToASCII(name.trim()).toLowerCase();
  return /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(ascii) ? ascii : undefined;
}

/** Parameters that the service sets in requests to a provider. Overriding them would be unsafe. */
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
FormatRegistry.Set('domain-list', (value) => {
  const domains = listOf(value);
  // A list without a domain would allow all domains.
  return value === '' || (domains.length > 0 && domains.every((domain) => asciiDomain(domain) !== undefined));
});
FormatRegistry.Set('role-mapping', (value) => isRecord(value, (_group, role) => uuidPattern.test(role)));

/**
 * The variables of one provider. Their full names are `AUTH_<PROVIDER>_<NAME>`, with the provider in capitals and `_`
 * instead of `-`. A provider with the name of Google, GitHub, Microsoft or GitLab uses the preset for it.
 */
export const ProviderVariables = Type.Object({
  DRIVER: choice(['openid', 'oauth2'], {
    description: 'Protocol of the provider. Use `openid` (OpenID Connect) if the provider supports it.',
  }),
  CLIENT_ID: text({ description: 'Client ID issued by the provider.' }),
  CLIENT_SECRET: text({ secret: true, description: 'Client secret issued by the provider.' }),
  MODE: choice(['session', 'cookie', 'json'], {
    default: 'session',
    description:
      'Mode of the sessions that start through this provider. A redirect has no body, so if the login ends with a redirect, `json` works like `cookie`.',
  }),
  LABEL: Type.Optional(text({ description: 'Name of the provider that users see.' })),
  ICON: Type.Optional(text({ description: 'Name or URL of an icon.' })),
  ISSUER_URL: url('`openid`: the issuer, or the URL of its discovery document.'),
  AUTHORIZE_URL: url('`oauth2`: the authorization endpoint.'),
  ACCESS_URL: url('`oauth2`: the token endpoint.'),
  PROFILE_URL: url('`oauth2`: the URL of the user profile.'),
  EMAILS_URL: url(
    '`oauth2`: the URL that returns the email addresses of the user, if they are not in the profile (as with GitHub).',
  ),
  TOKEN_AUTH_METHOD: Type.Optional(
    choice(['client_secret_basic', 'client_secret_post'], {
      description:
        'How the service sends the client secret to the token endpoint: in the `Authorization` header, or in the body. Default: what the discovery document says; with `oauth2`, `client_secret_post`.',
    }),
  ),
  RESPONSE_MODE: choice(['query', 'form_post'], {
    default: 'query',
    description:
      'How the provider returns the browser: with a redirect, or by submitting a form, which Apple requires. `form_post` requires a `PUBLIC_URL` with https, except on localhost, because browsers then send the cookies of the login only over https.',
  }),
  NONCE: choice(['required', 'optional'], {
    default: 'required',
    description:
      '`openid`: whether the ID token must contain the `nonce` of the login. Set it to `optional` for providers that omit it, such as LinkedIn. A different `nonce` is never accepted.',
  }),
  PKCE: choice(['S256', 'none'], {
    default: 'S256',
    description:
      'Whether the login uses PKCE. Set it to `none` only for providers that reject it, such as LinkedIn. The login is still bound to the browser by `state`.',
  }),
  SCOPE: Type.Optional(
    text({ description: 'Requested scopes. Default: `openid profile email`; with `oauth2`, `email`.' }),
  ),
  PARAMS: record(
    'parameters',
    'a JSON object of strings that contains no parameters that the service sets itself',
    'Additional parameters of the authorization URL, as JSON: `{"prompt": "select_account"}`.',
  ),
  IDENTIFIER_KEY: Type.Optional(
    text({ description: 'Profile field that identifies the user. Default: `sub`; with `oauth2`, `id`.' }),
  ),
  IDENTIFIER_IGNORE_CASE: flag({
    default: false,
    description: 'Whether letter case is ignored when identifiers are compared. Otherwise, they must match exactly.',
  }),
  EMAIL_KEY: text({ default: 'email', description: 'Profile field with the email address.' }),
  TRUST_EMAIL: Type.Optional(
    flag({
      description:
        'Whether the service trusts the email address that the provider sends, even if the provider does not assert that it is verified (`email_verified: true`). Default: `false`; with `oauth2`, which has no such claim, `true`. An address that is not trusted is not stored in `email`.',
    }),
  ),
  FIRST_NAME_KEY: Type.Optional(
    text({ description: 'Profile field with the first name. Default: `given_name`; with `oauth2`, `first_name`.' }),
  ),
  LAST_NAME_KEY: Type.Optional(
    text({ description: 'Profile field with the last name. Default: `family_name`; with `oauth2`, `last_name`.' }),
  ),
  ALLOW_PUBLIC_REGISTRATION: flag({
    default: false,
    description: 'Whether a first login creates a user. Otherwise, only existing users can log in.',
  }),
  REQUIRE_VERIFIED_EMAIL: flag({
    default: false,
    description:
      'Whether a login fails unless the provider asserts that the email address is verified (`email_verified: true`). TRUST_EMAIL does not affect this.',
  }),
  ALLOWED_DOMAINS: separated('domain-list', {
    expected: 'a comma-separated list of domain names, such as example.com',
    description:
      'Comma-separated list of domains. If set, a login fails unless the provider asserts that the email address is verified, and the address is in one of these domains. The domain of the organization that Google sends (`hd`) must also be one of them. Subdomains must be listed separately.',
  }),
  DEFAULT_ROLE_ID: Type.Optional(
    Type.String({
      format: 'uuid',
      expected: 'the ID of a role',
      description:
        'Role of users that are created by a first login. If unset, they have no role, and therefore only the permissions of the public policy. With ALLOW_PUBLIC_REGISTRATION, the role must not lead to `admin_access`.',
    }),
  ),
  SYNC_USER_INFO: flag({
    default: false,
    description:
      'Whether the names and the email address are updated from the provider at every login. If the address is not trusted (see TRUST_EMAIL), the old one stays.',
  }),
  ROLE_MAPPING: record(
    'role-mapping',
    'a JSON object of role IDs by group',
    'Roles by group, as JSON: `{"admins": "<role id>"}`. At every login, the first group that the user belongs to determines the role. A user who has one of these roles but belongs to none of the groups gets DEFAULT_ROLE_ID. If the provider only announces that there are groups, as Microsoft Entra does for more than 200, the role stays. Users of this provider can then sign in only through it.',
  ),
  GROUP_CLAIM_NAME: text({
    default: 'groups',
    description:
      'Profile field with the list of groups. If it contains an object, the keys of the object are the groups.',
  }),
  REDIRECT_ALLOW_LIST: urlList('`redirect`'),
});

/** One provider as the code sees it. */
export type ProviderConfig = StaticDecode<typeof ProviderVariables> & { key: string } & Required<
    Pick<
      StaticDecode<typeof ProviderVariables>,
      'SCOPE' | 'IDENTIFIER_KEY' | 'FIRST_NAME_KEY' | 'LAST_NAME_KEY' | 'TRUST_EMAIL'
    >
  >;

type RoleVariables = Pick<ProviderConfig, 'DEFAULT_ROLE_ID' | 'ROLE_MAPPING'>;

/** The roles that a provider can give to users when they log in. They need not exist. */
export const assignableRoles = ({ DEFAULT_ROLE_ID: role, ROLE_MAPPING: mapping }: RoleVariables): string[] => [
  ...(role === undefined ? [] : [role]),
  ...mapping.map(([, mapped]) => mapped),
];

/** The role that anyone who has an account at the provider gets, and that therefore must never lead to admin access. */
export const openRoles = ({
  ALLOW_PUBLIC_REGISTRATION: isOpen,
  DEFAULT_ROLE_ID: role,
}: Pick<ProviderConfig, 'ALLOW_PUBLIC_REGISTRATION' | 'DEFAULT_ROLE_ID'>): string[] =>
  isOpen && role !== undefined ? [role] : [];
