import { readFileSync } from 'node:fs';
import * as oidc from 'openid-client';
import t from 'tap';
import { type Browser, redirectUri, startProvider } from '../helpers/applications/applications.js';
import { hearStatements } from '../helpers/database/statements.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { administrator } from '../helpers/users/credentials.js';

const api = 'https://api.example.com';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** What the service does regularly, for a new connection, or after the response: jobs, the audit log, times of use, and keys. */
const isBackground = (text: string): boolean =>
  /pgboss"?\.|"activity_chain"|"activity_counts"|"active_hours"|(?:from|update) "activity"|to_regprocedure|pg_backend_pid|current_setting|"signing_keys"|"session_clients" where|update "(?:users|user_uses|sessions)"/.test(
    text,
  );

t.test('docs/capacity.md says how many statements each request of OpenID Connect sends', async (t) => {
  const provider = await startProvider(t);
  const { app, url, clock } = provider;
  await provider.addResource({ identifier: api, scopes: ['orders:read'] });
  const client = await provider.addClient({
    resources: [api],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials', deviceGrant, exchangeGrant],
  });
  const config = await provider.discover(client);
  const browser = await provider.browser(administrator);
  const authorization = `Basic ${btoa(`${client.id}:${client.secret}`)}`;

  const post = async (path: string, form: Record<string, string>): Promise<Record<string, string>> => {
    const response = await checkedFetch(`${url}/oauth/${path}`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(form),
    });
    const text = await response.text();
    return text === '' ? {} : JSON.parse(text);
  };
  const signIn = (parameters: Parameters<Browser['signIn']>[1] = {}) =>
    browser.signIn(config, { scope: 'openid email offline_access', ...parameters });
  const verifier = oidc.randomPKCECodeVerifier();
  const parameters = {
    client_id: client.id,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid email offline_access',
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  const authorize = () => browser.authorize(`${url}/oauth/authorize?${new URLSearchParams(parameters)}`);
  const exchangeCode = (code: string) =>
    post('token', { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier });
  const decide = (userCode: string) =>
    browser.fetch(`${url}/account/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user_code: userCode, allow: true }),
    });

  /** What is needed for a request, and the request. */
  const requests: Record<string, () => Promise<() => Promise<unknown>>> = {
    '`/oauth/authorize`, if the user is signed in': async () => authorize,
    '`/oauth/par`': async () => () => post('par', parameters),
    '`/oauth/device`': async () => () => post('device', { scope: 'openid' }),
    'authorization code': async () => {
      const code = (await authorize()).searchParams.get('code') ?? '';
      return () => exchangeCode(code);
    },
    'refresh token': async () => {
      const { refresh_token = '' } = await signIn();
      return () => post('token', { grant_type: 'refresh_token', refresh_token });
    },
    'client credentials': async () => () => post('token', { grant_type: 'client_credentials', resource: api }),
    'device code, before the user has decided': async () => {
      const { device_code = '' } = await post('device', { scope: 'openid' });
      return () => post('token', { grant_type: deviceGrant, device_code });
    },
    'device code': async () => {
      const { device_code = '', user_code = '' } = await post('device', { scope: 'openid' });
      await decide(user_code);
      clock.advance(6_000);
      return () => post('token', { grant_type: deviceGrant, device_code });
    },
    'token exchange': async () => {
      const { access_token } = await signIn();
      const form = { subject_token: access_token, subject_token_type: accessTokenType, resource: api };
      return () => post('token', { grant_type: exchangeGrant, ...form });
    },
    '`/oauth/introspect`': async () => {
      const { access_token } = await signIn();
      return () => post('introspect', { token: access_token });
    },
    '`/oauth/introspect`, for a JWT': async () => {
      const { access_token } = await signIn({ scope: 'orders:read', resource: api });
      return () => post('introspect', { token: access_token });
    },
    '`/oauth/userinfo`': async () => {
      const { access_token } = await signIn();
      return () => checkedFetch(`${url}/oauth/userinfo`, { headers: { authorization: `Bearer ${access_token}` } });
    },
    '`/oauth/revoke`': async () => {
      const { refresh_token = '' } = await signIn();
      return () => post('revoke', { token: refresh_token });
    },
    '`/oauth/jwks`, and the metadata': async () => async () => {
      await checkedFetch(`${url}/oauth/jwks`);
    },
  };

  let sent: string[] = [];
  t.teardown(hearStatements(app, ({ text }) => void sent.push(text)));
  const documented = documentedCounts();
  t.strictSame(Object.keys(documented), Object.keys(requests), 'the document lists these requests');
  for (const [name, prepare] of Object.entries(requests)) {
    await (await prepare())();
    let own: string[] = [];
    // Repeated, because other work of the service may fall into the same moment.
    for (let attempt = 0; attempt === 0 || (attempt < 3 && own.length !== documented[name]); attempt++) {
      const request = await prepare();
      sent = [];
      await request();
      own = sent.filter((text) => !isBackground(text));
    }
    t.equal(own.length, documented[name], name, { statements: own });
  }
});

/** The table in the document. */
function documentedCounts(): Record<string, number> {
  const document = readFileSync('docs/capacity.md', 'utf8');
  const [, table = ''] = /<!-- counted: requests of applications -->([\s\S]*?)<!-- end -->/.exec(document) ?? [];
  return Object.fromEntries(
    [...table.matchAll(/^\| (.+) \| (\d+) \|$/gm)].map(([, name, count]) => [name, Number(count)]),
  );
}
