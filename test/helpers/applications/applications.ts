import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import * as oidc from 'openid-client';
import type { Test } from 'tap';
import { hashToken } from '../../../plugins/tokens/refresh-tokens.js';
import { type CookieJar, createJar, fetchWith } from '../browser/cookie-jar.js';
import { freePort } from '../servers/ports.js';
import { startTestApp, type TestApp } from '../service/app.js';

export const redirectUri = 'https://app.example.com/callback';

/** A service that listens, so that OpenID Connect clients can use it, and what tests do as its administrator and its users. */
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

const clientDefaults = {
  name: 'App',
  type: 'confidential',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  first_party: true,
};

export async function startProvider(t: Test, variables: Record<string, string> = {}): Promise<ProviderUnderTest> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await startTestApp(t, { PUBLIC_URL: url, ...variables });
  await service.app.listen({ port, host: '127.0.0.1' });
  const { app } = service;
  const address = app.server.address() as AddressInfo;
  if (address.port !== port) throw new Error('The service listens on another port.');

  const insert = async (table: string, row: Record<string, unknown>) => {
    const { rows } = await import('../../../db/statements.js');
    const { sql } = await import('drizzle-orm');
    const names = sql.join(
      Object.keys(row).map((name) => sql.identifier(name)),
      sql`, `,
    );
    const given = sql.join(
      Object.keys(row).map((name) => sql`r.${sql.identifier(name)}`),
      sql`, `,
    );
    await rows(
      app.db,
      sql`insert into ${sql.identifier(table)} (${names}) select ${given} from jsonb_populate_record(null::${sql.identifier(table)}, ${JSON.stringify(row)}::jsonb) r`,
    );
  };

  return {
    ...service,
    url,
    addClient: async (values = {}) => {
      const id = randomUUID();
      const secret = randomBytes(32).toString('base64url');
      await insert('clients', { id, ...clientDefaults, ...values });
      if (values.type !== 'public')
        await insert('client_secrets', {
          id: randomUUID(),
          client: id,
          hash: hashToken(secret),
          created_at: new Date().toISOString(),
        });
      return { id, secret };
    },
    addResource: (values) => insert('resources', { id: randomUUID(), name: 'API', ...values }),
    discover: ({ id, secret }) =>
      oidc.discovery(new URL(url), id, undefined, secret ? oidc.ClientSecretBasic(secret) : oidc.None(), {
        execute: [oidc.allowInsecureRequests],
      }),
    browser: async (user) => {
      const jar = createJar();
      const send = fetchWith(jar) as typeof fetch;
      const response = await send(`${url}/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...user, mode: 'session' }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return createBrowser(url, jar, send);
    },
  };
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
