import * as oidc from 'openid-client';
import t from 'tap';
import { redirectUri, startProvider } from '../helpers/applications/applications.js';
import { startLogoutReceiver } from '../helpers/applications/logout-receiver.js';
import { asAdmin } from '../helpers/http/writing.js';
import { tokenFor } from '../helpers/mail/mails.js';
import { bearer } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

/** The tokens of applications and of the service itself, sent to every place that accepts one of them (JWT confusion). */

const api = 'https://api.example.com/';
const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

// The receiver of logout tokens is on this machine.
const provider = await startProvider(t, { WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' });
const { url, app, post } = provider;
const receiver = await startLogoutReceiver(t);
await provider.addResource({ identifier: api, scopes: ['orders:read'] });
const web = await provider.addClient({
  resources: [api],
  scopes: null,
  backchannel_logout_uri: receiver.uri,
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials', tokenExchange],
});
const config = await provider.discover(web);
const browser = await provider.browser(administrator);

const verifier = oidc.randomPKCECodeVerifier();
const authorization = async (): Promise<URL> =>
  browser.authorize(
    oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid offline_access',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }),
  );
const codeOf = async () => (await authorization()).searchParams.get('code') ?? '';
const { data: own } = (await post('/auth/login', { ...administrator, mode: 'json' })).json();
await post('/auth/password/request', { email: administrator.email });
const signedIn = await browser.signIn(config, { scope: 'openid offline_access' });
const forApi = await browser.signIn(config, { scope: 'openid orders:read', resource: api });

const leaving = await provider.browser(administrator);
await leaving.signIn(config, { scope: 'openid offline_access' });
await leaving.fetch(`${url}/account/sign-out`, { method: 'POST' });
for (let tries = 0; receiver.tokens.length === 0 && tries < 200; tries++)
  await app.openIdProvider.logoutNotices.sendNow();

const tokens = {
  'an access token of the service': own.access_token as string,
  'a refresh token of the service': own.refresh_token as string,
  'a static token': asAdmin.authorization.replace('Bearer ', ''),
  'a link to reset a password': await tokenFor(app, administrator.email),
  'an access token of an application': signedIn.access_token,
  'a refresh token of an application': signedIn.refresh_token ?? '',
  'an ID token': signedIn.id_token ?? '',
  'an access token for a resource': forApi.access_token,
  'an access token of a client': (await oidc.clientCredentialsGrant(config, { resource: api })).access_token,
  'a logout token': receiver.tokens[0] ?? '',
  'an authorization code': await codeOf(),
  'a client secret': web.secret,
};
type Kind = keyof typeof tokens;

/** Whether a place accepts a token. */
interface Place {
  takes: readonly Kind[];
  accepts(token: string): Promise<boolean>;
}

const form = async (path: string, values: Record<string, string>) =>
  fetch(`${url}/oauth/${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${web.id}:${web.secret}`)}` },
    body: new URLSearchParams(values),
  });
const isGranted = async (values: Record<string, string>) => (await form('token', values)).status === 200;

const places: Record<string, Place> = {
  'the API': {
    takes: ['an access token of the service', 'a static token'],
    accepts: async (token) => (await fetch(`${url}/users/me`, { headers: bearer(token) })).ok,
  },
  'a refresh of the service': {
    takes: ['a refresh token of the service'],
    accepts: async (token) => (await post('/auth/refresh', { refresh_token: token, mode: 'json' })).statusCode === 200,
  },
  'a password reset': {
    takes: ['a link to reset a password'],
    accepts: async (token) =>
      (await post('/auth/password/reset', { token, password: administrator.password })).statusCode === 204,
  },
  userinfo: {
    takes: ['an access token of an application'],
    accepts: async (token) => (await fetch(`${url}/oauth/userinfo`, { headers: bearer(token) })).ok,
  },
  introspection: {
    takes: [
      'an access token of an application',
      'a refresh token of an application',
      'an access token for a resource',
      'an access token of a client',
    ],
    accepts: async (token) => (await oidc.tokenIntrospection(config, token)).active,
  },
  'a refresh of an application': {
    takes: ['a refresh token of an application'],
    accepts: (token) => isGranted({ grant_type: 'refresh_token', refresh_token: token }),
  },
  'the exchange of a code': {
    takes: ['an authorization code'],
    accepts: (code) =>
      isGranted({ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }),
  },
  'the exchange of a token': {
    takes: ['an access token of an application', 'an access token for a resource'],
    accepts: (token) =>
      isGranted({
        grant_type: tokenExchange,
        subject_token: token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: api,
      }),
  },
  'a request to sign out': {
    takes: ['an ID token'],
    accepts: async (token) => {
      const hint = new URLSearchParams({ id_token_hint: token });
      const response = await fetch(`${url}/oauth/end-session?${hint}`, { redirect: 'manual' });
      return response.headers.get('location')?.startsWith('/account/login') ?? false;
    },
  },
  'a hint about the user': {
    takes: ['an ID token'],
    accepts: async (token) => {
      const to = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        id_token_hint: token,
        prompt: 'none',
      });
      return (await browser.authorize(to)).searchParams.has('code');
    },
  },
};

t.test('a token of one kind is not accepted as another', async (t) => {
  for (const [place, { takes, accepts }] of Object.entries(places)) {
    for (const [kind, token] of Object.entries(tokens) as [Kind, string][]) {
      t.ok(token.length > 10, kind);
      if (!takes.includes(kind)) t.equal(await accepts(token), false, `${kind} at ${place}`);
    }
  }
});

t.test('each kind of token is accepted where it belongs', async (t) => {
  // The end of all sessions would end the others, so the place that resets a password comes last.
  const order = Object.entries(places).sort(
    ([a], [b]) => Number(a === 'a password reset') - Number(b === 'a password reset'),
  );
  for (const [place, { takes, accepts }] of order) {
    for (const kind of takes) t.equal(await accepts(tokens[kind]), true, `${kind} at ${place}`);
  }
});
