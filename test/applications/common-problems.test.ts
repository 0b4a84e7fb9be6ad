import { request as httpRequest } from 'node:http';
import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import t from 'tap';
import { redirectUri, startProvider } from '../helpers/applications/applications.js';
import { create } from '../helpers/applications/clients.js';
import { asAdmin } from '../helpers/http/writing.js';
import { hour } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';
import { createRole } from '../helpers/users/rights.js';

/** Problems that users of other systems report. */
t.test('problems of other systems do not occur here', async (t) => {
  const provider = await startProvider(t);
  const { url, app } = provider;
  const api = 'https://api.example.com/';
  await provider.addResource({ identifier: api, scopes: ['orders:read'] });
  const web = await provider.addClient({ post_logout_redirect_uris: ['https://app.example.com/'] });
  const config = await provider.discover(web);
  const browser = await provider.browser(administrator);

  t.test('the issuer and the URLs do not follow the headers of a request', async (t) => {
    const headers = {
      host: 'evil.example',
      forwarded: 'host=evil.example;proto=http',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'ftp',
      'x-forwarded-port': '1',
    };
    const send = (path: string) =>
      new Promise<{ location: string; text: string }>((resolve, reject) => {
        httpRequest(`${url}${path}`, { headers }, async (response) => {
          let text = '';
          for await (const chunk of response) text += chunk;
          resolve({ location: response.headers.location ?? '', text });
        })
          .on('error', reject)
          .end();
      });
    for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
      const { text } = await send(path);
      const metadata = JSON.parse(text) as Record<string, unknown>;
      t.equal(metadata.issuer, url);
      for (const [name, value] of Object.entries(metadata)) {
        if (/_(?:endpoint|uri)$/.test(name)) t.ok(String(value).startsWith(`${url}/`), `${name}: ${value}`);
      }
      t.notMatch(text, /evil|ftp:/);
    }
    const query = new URLSearchParams({
      client_id: web.id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const { location } = await send(`/oauth/authorize?${query}`);
    t.match(location, /\/account\/authorize\//);
    t.equal(new URL(location, url).origin, url);
  });

  t.test('an expired ID token is enough to sign out', async (t) => {
    const own = await provider.browser(administrator);
    const { id_token: hint = '' } = await own.signIn(config);
    const { now } = Date;
    t.teardown(() => Object.assign(Date, { now }));
    Object.assign(Date, { now: () => now() + 2 * hour });
    t.ok((decodeJwt(hint).exp ?? 0) < Date.now() / 1_000, 'it has expired');
    const to = oidc.buildEndSessionUrl(config, {
      id_token_hint: hint,
      post_logout_redirect_uri: 'https://app.example.com/',
      state: 's',
    });
    t.equal((await own.authorize(to)).href, 'https://app.example.com/?state=s');
    t.equal((await own.fetch(`${url}/users/me`)).status, 401);
    t.equal((await own.authorize(to)).href, 'https://app.example.com/?state=s', 'and again, without a session');
  });

  t.test('a single-page application can call every endpoint that it needs', async (t) => {
    const origin = 'http://localhost:5173';
    const spa = await provider.addClient({
      type: 'public',
      redirect_uris: [`${origin}/callback`],
      allowed_origins: [origin],
    });
    const its = await provider.discover(spa);
    const tokens = await browser.signIn(its, { redirect_uri: `${origin}/callback`, scope: 'openid offline_access' });
    const form = { client_id: spa.id };
    const requests: [string, RequestInit?][] = [
      ['/.well-known/openid-configuration'],
      ['/.well-known/oauth-authorization-server'],
      ['/oauth/jwks'],
      [
        '/oauth/token',
        {
          method: 'POST',
          body: new URLSearchParams({
            ...form,
            grant_type: 'refresh_token',
            refresh_token: tokens.refresh_token ?? '',
          }),
        },
      ],
      ['/oauth/token', { method: 'POST', body: new URLSearchParams({ ...form, grant_type: 'refresh_token' }) }],
      ['/oauth/userinfo', { headers: { authorization: `Bearer ${tokens.access_token}` } }],
      ['/oauth/revoke', { method: 'POST', body: new URLSearchParams({ ...form, token: 'x' }) }],
    ];
    for (const [path, init = {}] of requests) {
      const isOpen = path.startsWith('/.well-known') || path === '/oauth/jwks';
      const { headers, status } = await fetch(`${url}${path}`, { ...init, headers: { origin, ...init.headers } });
      t.ok(['*', origin].includes(headers.get('access-control-allow-origin') ?? ''), `${path} ${status}`);
      const evil = await fetch(`${url}${path}`, {
        ...init,
        headers: { origin: 'https://evil.example', ...init.headers },
      });
      t.equal(evil.headers.has('access-control-allow-origin'), isOpen, `${path} from another origin`);
      const preflight = await fetch(`${url}${path}`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': init.method ?? 'GET',
          'access-control-request-headers': 'authorization,content-type,dpop',
        },
      });
      t.ok(preflight.status < 300, `${path}: ${preflight.status}`);
      t.match(preflight.headers.get('access-control-allow-headers')?.toLowerCase(), 'authorization');
    }
    for (const path of ['/oauth/authorize', '/oauth/end-session']) {
      const { headers } = await fetch(`${url}${path}`, { headers: { origin }, redirect: 'manual' });
      t.notOk(headers.has('access-control-allow-origin'), `scripts cannot read ${path}`);
    }
  });

  t.test('the ID token contains the email address, and groups are a flat list', async (t) => {
    const parent = await createRole(app);
    const role = await createRole(app, { parent });
    const user = { email: 'editor@example.com', password: 'the password of an editor' };
    const created = await provider.post('/users', { ...user, role, first_name: 'Ada', last_name: 'Lovelace' }, asAdmin);
    t.equal(created.statusCode, 200);
    const own = await provider.browser(user);
    const scope = 'openid profile email roles groups';
    const names = [`Role ${role}`, `Role ${parent}`];
    const expected = {
      email: user.email,
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      roles: names,
      groups: names,
    };
    const tokens = await own.signIn(config, { scope });
    t.match(tokens.claims(), expected);
    const { sub = '' } = tokens.claims() ?? {};
    t.match(await oidc.fetchUserInfo(config, tokens.access_token, sub), expected);
    const minimal = await provider.discover(await provider.addClient({ minimal_id_token: true }));
    const few = await own.signIn(minimal, { scope });
    t.notOk('email' in (few.claims() ?? {}), 'unless the client wants a minimal ID token');
    t.match(await oidc.fetchUserInfo(minimal, few.access_token, sub), expected);
  });

  t.test('a public client can request a resource and offline access, as most agents do', async (t) => {
    const agent = await create(provider, '/clients', {
      name: 'An agent',
      type: 'public',
      redirect_uris: ['http://127.0.0.1/callback'],
      resources: [api],
    });
    const its = await provider.discover({ id: agent.id, secret: '' });
    const redirect_uri = 'http://127.0.0.1:51823/callback';
    for (const parameters of [
      { scope: 'openid offline_access orders:read', resource: api, prompt: 'consent' },
      { scope: 'orders:read offline_access', resource: api },
      { scope: 'orders:read' },
      { scope: '' },
    ]) {
      const tokens = await browser.signIn(its, { redirect_uri, ...parameters });
      t.match(
        decodeJwt(tokens.access_token),
        { aud: api, client_id: agent.id, scope: 'orders:read' },
        parameters.scope,
      );
      const refreshed = await oidc.refreshTokenGrant(its, tokens.refresh_token ?? '', { resource: api });
      t.match(decodeJwt(refreshed.access_token), { aud: api, client_id: agent.id, scope: 'orders:read' });
    }
  });
});
