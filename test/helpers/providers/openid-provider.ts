import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { Test } from 'tap';
import { type CookieJar, fetchWith } from '../browser/cookie-jar.js';
import { atEndOf } from '../runner/teardown.js';
import { listen } from '../servers/ports.js';

/** The claims of an account at the provider, including `sub`. */
export type Claims = { sub: string } & Record<string, unknown>;

/** A certified OpenID Provider with its own login and consent pages. */
export interface OpenIdProvider {
  readonly issuer: string;
  /** The environment variables that configure it as the provider `key` of a service. */
  variables(key: string, others?: Record<string, string>): Record<string, string>;
  /** Creates or changes an account. Users enter its name on the login page. */
  setAccount(name: string, claims: Claims): void;
  /** The paths requested so far, oldest first. */
  readonly asked: string[];
}

/** A secret with all characters that a client must encode in an `Authorization` header (RFC 6749, 2.3.1). */
const clientSecret = 'a secret: 100% + / & = ?';

/**
 * Starts a provider with one client for each key. It uses basic authentication, PKCE with S256, and ID tokens signed
 * with RS256.
 * @param publicUrl the URL of the service to which users are redirected
 */
export async function startOpenIdProvider(
  t: Test,
  { publicUrl, keys }: { publicUrl: string; keys: readonly string[] },
): Promise<OpenIdProvider> {
  const accounts = new Map<string, Claims>();
  const asked: string[] = [];
  const server = createServer();
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { Provider } = await quietly(() => import('oidc-provider'));
  const provider = await quietly(
    () =>
      new Provider(issuer, {
        clients: keys.map((key) => ({
          client_id: clientOf(key),
          client_secret: clientSecret,
          redirect_uris: [`${publicUrl}/auth/login/${key}/callback`],
          token_endpoint_auth_method: 'client_secret_basic',
        })),
        claims: {
          openid: ['sub'],
          email: ['email', 'email_verified'],
          profile: ['name', 'given_name', 'family_name', 'preferred_username', 'groups', 'employee_number'],
        },
        findAccount: (_context, name) => {
          const claims = accounts.get(name);
          return claims && { accountId: name, claims: () => structuredClone(claims) };
        },
        jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'signing', alg: 'RS256', use: 'sig' }] },
        pkce: { required: () => true },
        cookies: { keys: ['a key for the cookies of tests'] },
        ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, IdToken: 3600, Interaction: 600, Session: 3600 },
        features: { devInteractions: { enabled: true } },
      }),
  );
  server.on('request', provider.callback());
  server.prependListener('request', (request) => asked.push(request.url?.split('?', 1)[0] ?? ''));
  atEndOf(t, () => {
    server.close();
    server.closeAllConnections();
  });
  return {
    issuer,
    variables: (key, others = {}) => {
      const given = { CLIENT_ID: clientOf(key), CLIENT_SECRET: clientSecret, ISSUER_URL: issuer, ...others };
      return providerVariables(key, { DRIVER: 'openid', ...given });
    },
    setAccount: (name, claims) => accounts.set(name, claims),
    asked,
  };
}

const clientOf = (key: string) => `client-of-${key}`;

/** The settings of one provider as environment variables. */
export function providerVariables(key: string, settings: Record<string, string>): Record<string, string> {
  const prefix = `AUTH_${key.toUpperCase().replaceAll('-', '_')}_`;
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [`${prefix}${name}`, value]));
}

/** Suppresses the library's warnings that this setup is not suitable for production. */
export async function quietly<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  const { info, warn } = console;
  Object.assign(console, { info: () => {}, warn: () => {} });
  try {
    return await work();
  } finally {
    Object.assign(console, { info, warn });
  }
}

/**
 * Acts like a person with a browser at the provider: follows redirects, logs in, and consents if requested.
 * @param url the URL to which the service has redirected the browser
 * @param account the name of the account; undefined selects "Cancel" instead
 * @returns the URL of the service to which the provider redirects, without a request to it
 */
export async function logInAt(
  { issuer }: Pick<OpenIdProvider, 'issuer'>,
  url: string,
  jar: CookieJar,
  account: string | undefined,
): Promise<string> {
  const fetch = fetchWith(jar);
  let request: { url: string; form?: Record<string, string> } = { url };
  for (let hops = 0; hops < 20; hops++) {
    if (!request.url.startsWith(`${issuer}/`)) return request.url;
    const { form } = request;
    const sent = form && { method: 'POST', body: new URLSearchParams(form) };
    const response: Response = await fetch(request.url, { redirect: 'manual', ...sent });
    const page = await response.text();
    const location = response.headers.get('location');
    if (location !== null) request = { url: new URL(location, request.url).href };
    else if (response.status === 200) request = answerTo(page, account);
    else throw new Error(`The provider returned ${response.status}: ${textOf(page)}`);
  }
  throw new Error('The provider redirects in a loop.');
}

/** Fills in the form of a page. */
function answerTo(page: string, account: string | undefined): { url: string; form?: Record<string, string> } {
  const found = (pattern: RegExp) => {
    const [, text] = pattern.exec(page) ?? [];
    if (text === undefined) throw new Error(`The provider returned an unknown page: ${textOf(page)}`);
    return text;
  };
  if (account === undefined) return { url: found(/<a href="([^"]+)">\[ Cancel \]/) };
  const url = found(/<form [^>]*action="([^"]+)"/);
  const prompt = found(/name="prompt" value="([^"]+)"/);
  return { url, form: { prompt, ...(prompt === 'login' ? { login: account, password: 'any will do' } : {}) } };
}

const textOf = (page: string) =>
  page
    .replace(/<style>.*?<\/style>|<[^>]*>/gs, ' ')
    .replace(/\s+/g, ' ')
    .slice(0, 500);
