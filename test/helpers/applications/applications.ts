import * as oidc from 'openid-client';
import type { Test } from 'tap';
import type { Overrides } from '../../../app.js';
import { type CookieJar, createJar, fetchWith } from '../browser/cookie-jar.js';
import { startWithAdmin } from '../http/writing.js';
import { checkedFetch } from '../openapi/document.js';
import { freePort } from '../servers/ports.js';
import type { TestApp } from '../service/app.js';
import { confidentialClient, create, publicClient, resource } from './clients.js';

/** The redirect URI of the clients, unless they have others. */
export const [redirectUri = ''] = publicClient().redirect_uris;

/** Most tests are not about consent. */
const trusted = { first_party: true };

/**
 * A service that listens, so that OpenID Connect clients can use it, and what tests do as its administrator and its users. All responses
 * are checked against the OpenAPI document.
 */
export interface ProviderUnderTest extends TestApp {
  url: string;
  /** Creates a client. @returns its ID and secret */
  addClient(values?: Record<string, unknown>): Promise<{ id: string; secret: string }>;
  addResource(values: { identifier: string } & Record<string, unknown>): Promise<void>;
  /** The configuration of a client library for a client. */
  discover(client: { id: string; secret: string }): Promise<oidc.Configuration>;
  /** A browser in which the user is signed in. */
  browser(user: { email: string; password: string; otp?: string }): Promise<Browser>;
}

export interface Browser {
  jar: CookieJar;
  fetch: typeof fetch;
  /**
   * Opens an authorization URL, and follows it to the client.
   * @param decide what the user decides on the consent page; by default, they allow the access
   */
  authorize(url: URL | string, decide?: boolean): Promise<URL>;
  /** The same, with the tokens for the code. */
  signIn(config: oidc.Configuration, parameters?: Record<string, string>, options?: SignInOptions): Promise<SignedIn>;
}

export interface SignInOptions {
  tokenParameters?: Record<string, string>;
  decide?: boolean;
}

export type SignedIn = Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>;

export async function startProvider(
  t: Test,
  variables: Record<string, string> = {},
  overrides: Overrides = {},
): Promise<ProviderUnderTest> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await startWithAdmin(t, { PUBLIC_URL: url, ...variables }, overrides);
  await service.app.listen({ port, host: '127.0.0.1' });
  return {
    ...service,
    url,
    addClient: async (values) => {
      const { id, secret = '' } = await create(service, '/clients', confidentialClient({ ...trusted, ...values }));
      return { id, secret };
    },
    addResource: async (values) => {
      await create(service, '/resources', resource(values));
    },
    discover: (client) => discover(url, client),
    browser: (user) => signedInBrowser(url, user),
  };
}

/** The configuration of a client library for a client of a service. */
export const discover = (url: string, { id, secret }: { id: string; secret: string }): Promise<oidc.Configuration> =>
  oidc.discovery(new URL(url), id, undefined, secret ? oidc.ClientSecretBasic(secret) : oidc.None(), {
    execute: [oidc.allowInsecureRequests],
    [oidc.customFetch]: checkedFetch as oidc.CustomFetch,
  });

/** A browser in which the user is signed in. */
export async function signedInBrowser(
  url: string,
  user: Parameters<ProviderUnderTest['browser']>[0],
): Promise<Browser> {
  const jar = createJar();
  const send = fetchWith(jar, checkedFetch) as typeof fetch;
  const response = await send(`${url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...user, mode: 'session' }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return createBrowser(url, jar, send);
}

export function createBrowser(url: string, jar: CookieJar, send: typeof fetch): Browser {
  const authorize: Browser['authorize'] = async (start, decide = true) => {
    let next = new URL(start);
    for (let steps = 0; steps < 10; steps++) {
      if (next.origin !== url) return next;
      const isAsked = /^\/account\/authorize\//.test(next.pathname);
      const response = await send(next, { redirect: 'manual' });
      const location = response.headers.get('location');
      if (location !== null) next = new URL(location, next);
      else if (isAsked && response.status === 200) {
        const decided = await send(next, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ allow: decide }),
        });
        const { data } = (await decided.json()) as { data: { redirect: string } };
        next = new URL(data.redirect, next);
      } else throw new Error(`${next} returned ${response.status}: ${(await response.text()).slice(0, 300)}`);
    }
    throw new Error('The service redirects in a loop.');
  };
  return {
    jar,
    fetch: send,
    authorize,
    signIn: async (config, parameters = {}, { tokenParameters, decide } = {}) => {
      const verifier = oidc.randomPKCECodeVerifier();
      const scope = parameters.scope ?? 'openid';
      const nonce = scope.includes('openid') ? { nonce: oidc.randomNonce() } : {};
      const state = oidc.randomState();
      const to = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        ...nonce,
        ...parameters,
      });
      const back = await authorize(to, decide);
      return oidc.authorizationCodeGrant(
        config,
        back,
        { pkceCodeVerifier: verifier, expectedState: state, ...(nonce.nonce ? { expectedNonce: nonce.nonce } : {}) },
        tokenParameters,
      );
    },
  };
}

/** Asserts that a request of a client library fails with an OAuth error. */
export async function fails(t: Test, request: Promise<unknown>, expected: string, what = expected): Promise<void> {
  const failure = await request.then(
    () => undefined,
    (error: { error?: string }) => error,
  );
  t.equal(failure?.error, expected, what);
}
