import * as oidc from 'openid-client';
import t, { type Test } from 'tap';
import { startProvider } from '../helpers/applications/applications.js';
import { patch } from '../helpers/http/writing.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { createPolicy, createRole } from '../helpers/users/rights.js';
import { changeUser, createUser } from '../helpers/users/users.js';

// Valid tokens in plain requests get a response without the library. Here, it is compared with the library's response to the same question.

const api = 'https://api.example.com/';
const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

const provider = await startProvider(t);
const { app, url } = provider;
await provider.addResource({ identifier: api, scopes: ['orders:read'] });
const web = await provider.addClient({
  resources: [api],
  scopes: ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access', 'users:read', 'orders:read'],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
});
const reader = await provider.addClient({ resources: [api], grant_types: [tokenExchange], redirect_uris: [] });
const config = await provider.discover(web);
const role = await createRole(app, { parent: await createRole(app) });
const ada = await createUser(app, {
  role,
  firstName: 'Ada',
  lastName: 'Lovelace',
  language: 'de-DE',
  avatar: 'https://example.com/ada.png',
  policies: [await createPolicy(app, {})],
});
const browser = await provider.browser(ada);

/** What a client can see of a response. */
const seen = async (response: Response) => {
  // The headers about other sites mean nothing here, because no browser sent the request.
  const ignored = /^(?:date|x-request-id|access-control-.*)$/;
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !ignored.test(name)));
  return { status: response.status, headers, body: await response.json() };
};

/** The response to the plain request, and the library's: it responds to a POST. */
const userInfo = async (token: string) => {
  const ask = async (method: string) =>
    seen(await checkedFetch(`${url}/oauth/userinfo`, { method, headers: { authorization: `Bearer ${token}` } }));
  return { plain: await ask('GET'), library: await ask('POST') };
};

type Client = { id: string; secret: string };

/** The same for introspection. The library responds to a request with the client's secret in its form. */
const introspection = async ({ id, secret }: Client, token: string, hint = '') => {
  const ask = async (form: Record<string, string>, sent: Record<string, string> = {}) =>
    seen(
      await checkedFetch(`${url}/oauth/introspect`, {
        method: 'POST',
        headers: sent,
        body: new URLSearchParams({ token, ...(hint ? { token_type_hint: hint } : {}), ...form }),
      }),
    );
  const basic = (name: string, password: string) => ({ authorization: `Basic ${btoa(`${name}:${password}`)}` });
  const encoded = (text: string) => text.replaceAll('_', '%5F').replaceAll('-', '%2D');
  return {
    plain: await ask({}, basic(id, secret)),
    encoded: await ask({}, basic(encoded(id), encoded(secret))),
    library: await ask({ client_id: id, client_secret: secret }),
  };
};

const sameUserInfo = async (t: Test, token: string, what: string) => {
  const { plain, library } = await userInfo(token);
  t.strictSame(plain, library, what);
  return plain as { status: number; body: Record<string, unknown> };
};

const sameIntrospection = async (t: Test, client: Client, token: string, what: string, hint?: string) => {
  const { plain, encoded, library } = await introspection(client, token, hint);
  t.strictSame(plain, library, what);
  t.strictSame(encoded, library, `with percent-encoded credentials: ${what}`);
  return plain.body as Record<string, unknown>;
};

t.test('userinfo for each scope', async (t) => {
  for (const scope of [
    'openid',
    'openid offline_access',
    'openid profile',
    'openid email',
    'email openid',
    'openid roles groups',
    'openid profile email roles groups users:read offline_access',
  ]) {
    const { access_token: token } = await browser.signIn(config, { scope });
    const { status, body } = await sameUserInfo(t, token, scope);
    t.match({ status, sub: body.sub }, { status: 200, sub: ada.id }, scope);
    if (scope.includes('email')) t.equal(body.email, ada.email);
    await sameIntrospection(t, web, token, scope);
  }
  const other = await provider.addClient({ scopes: ['openid', 'email', 'users:read'] });
  for (const scope of ['email', 'users:read']) {
    const { access_token: token } = await browser.signIn(await provider.discover(other), { scope });
    t.equal((await sameUserInfo(t, token, scope)).status, 403, scope);
  }
});

t.test('of what a user has allowed, a client gets what its settings still allow', async (t) => {
  const shop = await provider.addClient({ first_party: false, scopes: ['openid', 'profile', 'email'] });
  const { access_token: token } = await browser.signIn(await provider.discover(shop), {
    scope: 'openid profile email',
  });
  t.match((await sameUserInfo(t, token, 'everything')).body, { name: 'Ada Lovelace', email: ada.email });
  await patch(provider, `/clients/${shop.id}`, { scopes: ['openid', 'profile'] });
  const { body } = await sameUserInfo(t, token, 'without a scope that was removed');
  t.equal(body.name, 'Ada Lovelace');
  t.notOk('email' in body);
});

t.test('introspection of each kind of token, by its client and by an API', async (t) => {
  const { access_token: opaque, refresh_token: refresh = '' } = await browser.signIn(config, {
    scope: 'openid offline_access',
  });
  const { access_token: jwt } = await browser.signIn(config, { scope: 'openid orders:read', resource: api });
  const { access_token: own } = await oidc.clientCredentialsGrant(config, { resource: api });
  const { access_token: exchanged } = await oidc.genericGrantRequest(await provider.discover(reader), tokenExchange, {
    subject_token: jwt,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    resource: api,
  });
  const tokens = Object.entries({ opaque, refresh, jwt, own, exchanged });
  for (const [kind, token] of tokens) {
    for (const [name, client] of Object.entries({ web, reader })) {
      const isKnown = name === (kind === 'exchanged' ? 'reader' : 'web') || ['jwt', 'own', 'exchanged'].includes(kind);
      const { active } = await sameIntrospection(t, client, token, `${kind} by ${name}`);
      t.equal(active, isKnown, `${kind} by ${name}`);
    }
    for (const hint of ['access_token', 'refresh_token', 'something'])
      await sameIntrospection(t, web, token, `${kind} with the hint ${hint}`, hint);
    await sameUserInfo(t, token, `${kind} at userinfo`);
  }
  await oidc.refreshTokenGrant(config, refresh);
  t.equal((await sameIntrospection(t, web, refresh, 'a used refresh token')).active, false);
  await sameIntrospection(t, web, `${jwt}x`, 'a changed token');
  const { plain } = await introspection({ ...web, secret: 'wrong' }, jwt);
  t.match(plain, { status: 401, body: { error: 'invalid_client' } }, 'a wrong secret');
});

t.test('a token that has ended', async (t) => {
  const eve = await createUser(app, { role });
  const eves = await provider.browser(eve);
  const { access_token: token } = await eves.signIn(config, { scope: 'openid email' });
  t.equal((await sameUserInfo(t, token, 'valid')).status, 200);
  await changeUser(app, eve.id, { status: 'suspended' });
  t.equal((await sameUserInfo(t, token, 'of a suspended user')).status, 401);
  t.equal((await sameIntrospection(t, web, token, 'of a suspended user')).active, false);
});

t.test('a token that is bound to a key, and a client that is locked', async (t) => {
  const DPoP = oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair());
  const { access_token: bound } = await oidc.clientCredentialsGrant(config, { resource: api }, { DPoP });
  t.match(await sameIntrospection(t, web, bound, 'bound'), { active: true, token_type: 'DPoP', cnf: { jkt: String } });
  const { access_token: token } = await oidc.clientCredentialsGrant(config, { resource: api });
  await patch(provider, '/settings', { auth_login_attempts: 2 });
  for (let attempt = 0; attempt < 2; attempt++) await introspection({ ...reader, secret: 'wrong' }, token);
  const { plain, library } = await introspection(reader, token);
  t.equal(plain.status, 429);
  t.equal(library.status, 429);
});
