import { Value } from '@sinclair/typebox/value';
import { type ProviderConfig, ProviderVariables } from '../../schemas/provider-config.js';
import { type Environment, fileVariables, readVariables } from './environment.js';

/** Default variables for providers with these names. Variables in the environment take precedence. */
const providerPresets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  google: {
    DRIVER: 'openid',
    LABEL: 'Google',
    ICON: 'google',
    ISSUER_URL: 'https://accounts.google.com',
  },
  github: {
    DRIVER: 'oauth2',
    LABEL: 'GitHub',
    ICON: 'github',
    AUTHORIZE_URL: 'https://github.com/login/oauth/authorize',
    ACCESS_URL: 'https://github.com/login/oauth/access_token',
    PROFILE_URL: 'https://api.github.com/user',
    // The profile contains only a public email address.
    EMAILS_URL: 'https://api.github.com/user/emails',
    SCOPE: 'read:user user:email',
    IDENTIFIER_KEY: 'id',
    FIRST_NAME_KEY: 'name',
  },
  microsoft: {
    DRIVER: 'openid',
    LABEL: 'Microsoft',
    ICON: 'microsoft',
    // Work, school and personal accounts. To allow only those of one organization, replace `common` with the ID of its tenant.
    ISSUER_URL: 'https://login.microsoftonline.com/common/v2.0',
  },
  gitlab: {
    DRIVER: 'openid',
    LABEL: 'GitLab',
    ICON: 'gitlab',
    ISSUER_URL: 'https://gitlab.com',
    // GitLab sends the full name as one string, which becomes the first name.
    FIRST_NAME_KEY: 'name',
  },
};

/** Default values of the variables, by protocol. */
const defaults = {
  openid: {
    SCOPE: 'openid profile email',
    IDENTIFIER_KEY: 'sub',
    FIRST_NAME_KEY: 'given_name',
    LAST_NAME_KEY: 'family_name',
    TRUST_EMAIL: false,
  },
  oauth2: {
    SCOPE: 'email',
    IDENTIFIER_KEY: 'id',
    FIRST_NAME_KEY: 'first_name',
    LAST_NAME_KEY: 'last_name',
    // OAuth2 has no claim for verified email addresses.
    TRUST_EMAIL: true,
  },
} as const;

const needed = { openid: ['ISSUER_URL'], oauth2: ['AUTHORIZE_URL', 'ACCESS_URL', 'PROFILE_URL'] } as const;

/** The prefix of a provider's variables. */
export const prefixOf = (key: string) => `AUTH_${key.toUpperCase().replaceAll('-', '_')}_`;

/** Reads the providers with these keys from the environment, and collects all faults. */
export function readProviders(
  env: Environment,
  keys: readonly string[],
): { configs: readonly ProviderConfig[]; faults: readonly string[] } {
  const prefixes = keys.map(prefixOf);
  const read = keys.map((key) => readProvider(env, key, prefixes));
  return {
    configs: read.flatMap(({ config }) => (config ? [Object.freeze(config)] : [])),
    faults: read.flatMap(({ faults }) => faults),
  };
}

function readProvider(
  env: Environment,
  key: string,
  prefixes: readonly string[],
): { config?: ProviderConfig; faults: readonly string[] } {
  const prefix = prefixOf(key);
  const { candidate, faults } = readVariables(ProviderVariables, env, prefix, providerPresets[key.toLowerCase()]);
  const driver = candidate.DRIVER === 'oauth2' ? 'oauth2' : 'openid';
  for (const name of candidate.DRIVER === driver ? needed[driver] : []) {
    if (candidate[name] === undefined) faults.push(`${prefix}${name}: must be set for the driver ${driver}`);
  }
  if (candidate.RESPONSE_MODE === 'form_post' && !acceptsSecureCookies(env.PUBLIC_URL)) {
    faults.push(`${prefix}RESPONSE_MODE: form_post requires a PUBLIC_URL with https, except on localhost`);
  }
  faults.push(...unknownVariables(env, prefix, prefixes));
  if (faults.length > 0) return { faults };
  return { config: { ...defaults[driver], ...Value.Decode(ProviderVariables, candidate), key }, faults };
}

/** Browsers accept secure cookies only from https and, for development, from localhost. An invalid URL is reported elsewhere. */
const acceptsSecureCookies = (publicUrl = 'http://localhost'): boolean =>
  !/^http:/i.test(publicUrl.trim()) ||
  /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$)/i.test(publicUrl.trim());

/** Rejects unknown variables, because a misspelled name could silently grant or deny access. */
function unknownVariables(env: Environment, prefix: string, prefixes: readonly string[]): string[] {
  const isOf = (name: string, other: string) => other.length > prefix.length && name.startsWith(other);
  const known = new Set([...Object.keys(ProviderVariables.properties), ...fileVariables(ProviderVariables)]);
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && !prefixes.some((other) => isOf(name, other)))
    .filter((name) => !known.has(name.slice(prefix.length)))
    .map((name) => `${name}: providers have no such variable`);
}
