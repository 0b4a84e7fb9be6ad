import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import t from 'tap';
import { fails, redirectUri, startProvider } from '../helpers/applications/applications.js';
import { create } from '../helpers/applications/clients.js';
import { createJar, fetchWith } from '../helpers/browser/cookie-jar.js';
import { minute } from '../helpers/service/clock.js';
import { administrator } from '../helpers/users/credentials.js';

/**
 * What the modules of the OpenID Foundation's conformance suite check, for the profiles Basic OP, Config OP, Form Post OP, and
 * RP-Initiated Logout OP. The titles begin with the names of the modules. `docs/conformance-openid.md` lists them.
 */
t.test('the modules of the conformance suite', async (t) => {
  const provider = await startProvider(t);
  const { url, clock } = provider;
  const after = 'https://app.example.com/signed-out';
  const client = await provider.addClient({ post_logout_redirect_uris: [after, `${after}?x=1`] });
  const config = await provider.discover(client);
  const browser = await provider.browser(administrator);
  const verifier = oidc.randomPKCECodeVerifier();
  const basic = { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` };
  type Parameters = Record<string, string>;

  const query = async (parameters: Parameters = {}, { pkce = true } = {}): Promise<Parameters> => ({
    client_id: client.id,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    state: 'the state',
    nonce: 'the nonce',
    ...(pkce ? { code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' } : {}),
    ...parameters,
  });
  /** Follows an authorization request until a page is shown, or the browser returns to the client. */
  const follow = async (start: URL | string, send = browser.fetch) => {
    let next = new URL(start, url);
    for (let steps = 0; steps < 10 && next.origin === url; steps++) {
      const response = await send(next, { redirect: 'manual' });
      const location = response.headers.get('location');
      if (location === null) return { url: next, status: response.status, page: await response.text() };
      next = new URL(location, next);
    }
    return { url: next, status: 200, page: undefined };
  };
  const ask = async (parameters: Parameters = {}, send = browser.fetch) =>
    follow(`${url}/oauth/authorize?${new URLSearchParams(await query(parameters))}`, send);
  const codeOf = async (parameters?: Parameters) => (await ask(parameters)).url.searchParams.get('code') ?? '';
  const exchange = async (code: string, init: { headers?: Parameters; form?: Parameters } = { headers: basic }) => {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const response = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      headers: init.headers ?? {},
      body: new URLSearchParams({ ...form, ...init.form }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  /** The claims of the ID token for a request, with which the user has not been asked anything. */
  const claimsOf = async (parameters?: Parameters) => {
    const back = (await ask(parameters)).url;
    const checks = { pkceCodeVerifier: verifier, expectedState: 'the state', expectedNonce: 'the nonce' };
    const tokens = await oidc.authorizationCodeGrant(config, back, checks);
    return { tokens, claims: tokens.claims() ?? ({} as oidc.IDToken) };
  };
  const reauthenticate = () =>
    browser.fetch(`${url}/auth/reauthenticate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ password: administrator.password }),
    });
  const { sub } = (await claimsOf()).claims;

  t.test('oidcc-server: the code flow, with client_secret_basic', async (t) => {
    const { url: back } = await ask();
    t.match(Object.fromEntries(back.searchParams), { code: String, state: 'the state', iss: url });
    const { status, body } = await exchange(back.searchParams.get('code') ?? '');
    t.equal(status, 200);
    t.match(body, { access_token: String, id_token: String, token_type: 'Bearer', expires_in: Number });
    const { claims } = await claimsOf();
    t.match(claims, {
      iss: url,
      aud: client.id,
      sub: String,
      exp: Number,
      iat: Number,
      nonce: 'the nonce',
    });
    t.match(claims, { auth_time: Number, amr: ['pwd'] });
  });

  t.test('oidcc-server-client-secret-post: the code flow, with client_secret_post', async (t) => {
    const form = { client_id: client.id, client_secret: client.secret };
    t.equal((await exchange(await codeOf(), { form })).status, 200);
  });

  t.test('oidcc-response-type-missing: a request without response_type is an error', async (t) => {
    const { response_type: _missing, ...rest } = await query();
    const { url: back } = await follow(`${url}/oauth/authorize?${new URLSearchParams(rest)}`);
    t.match(Object.fromEntries(back.searchParams), { error: 'invalid_request', state: 'the state' });
  });

  t.test('oidcc-idtoken-signature: the key of the ID token is in the key set', async (t) => {
    const { tokens } = await claimsOf();
    const { alg, kid } = decodeProtectedHeader(tokens.id_token ?? '');
    t.equal(alg, 'RS256');
    t.type(kid, 'string');
    const keys = createRemoteJWKSet(new URL(`${url}/oauth/jwks`));
    t.equal((await jwtVerify(tokens.id_token ?? '', keys, { issuer: url, audience: client.id })).payload.sub, sub);
    for (const algorithm of ['ES256', 'EdDSA']) {
      const chosen = { id_token_signed_response_alg: algorithm };
      const { id, secret } = await provider.addClient(chosen);
      const other = await oidc.discovery(new URL(url), id, chosen, oidc.ClientSecretBasic(secret), {
        execute: [oidc.allowInsecureRequests],
      });
      const signed = await browser.signIn(other);
      t.equal(decodeProtectedHeader(signed.id_token ?? '').alg, algorithm);
      t.ok((await jwtVerify(signed.id_token ?? '', keys)).payload.sub);
    }
  });

  t.test('oidcc-idtoken-unsigned: ID tokens are always signed', async (t) => {
    const body = { name: 'x', type: 'public', redirect_uris: [redirectUri], id_token_signed_response_alg: 'none' };
    await t.rejects(create(provider, '/clients', body), /FAILED_VALIDATION/);
    const supported = config.serverMetadata().id_token_signing_alg_values_supported;
    t.notOk(supported?.includes('none'));
  });

  for (const [name, init] of [
    ['oidcc-userinfo-get: userinfo with GET', {}],
    ['oidcc-userinfo-post-header: userinfo with POST', { method: 'POST' }],
    ['oidcc-userinfo-post-body: userinfo with the token in a form', { method: 'POST', isForm: true }],
  ] as [string, { method?: string; isForm?: boolean }][]) {
    t.test(name, async (t) => {
      const { tokens } = await claimsOf({ scope: 'openid email' });
      const response = await fetch(`${url}/oauth/userinfo`, {
        method: init.method ?? 'GET',
        ...(init.isForm
          ? { body: new URLSearchParams({ access_token: tokens.access_token }) }
          : { headers: { authorization: `Bearer ${tokens.access_token}` } }),
      });
      t.match(response.headers.get('content-type'), 'application/json');
      t.match(await response.json(), { sub, email: administrator.email, email_verified: Boolean });
    });
  }

  t.test('oidcc-ensure-request-without-nonce-succeeds-for-code-flow: a nonce is optional', async (t) => {
    const { nonce: _nonce, ...rest } = await query();
    const { url: back } = await follow(`${url}/oauth/authorize?${new URLSearchParams(rest)}`);
    const { body } = await exchange(back.searchParams.get('code') ?? '');
    t.notOk('nonce' in JSON.parse(Buffer.from(body.id_token?.split('.')[1] ?? '', 'base64url').toString()));
  });

  for (const [module, scope, expected] of [
    ['oidcc-scope-profile', 'openid profile', ['name', 'given_name']],
    ['oidcc-scope-email', 'openid email', ['email', 'email_verified']],
    ['oidcc-scope-all', 'openid profile email roles groups', ['name', 'email', 'roles', 'groups']],
    ['oidcc-ensure-other-scope-order-succeeds', 'email openid', ['email']],
  ] as const) {
    t.test(`${module}: the scope ${scope} returns its claims`, async (t) => {
      await provider.request({
        method: 'PATCH',
        url: `/users/${sub}`,
        headers: { authorization: 'Bearer the-static-token-of-the-administrator' },
        payload: { first_name: 'Ada' },
      });
      const { tokens, claims } = await claimsOf({ scope });
      const userinfo = await oidc.fetchUserInfo(config, tokens.access_token, sub);
      for (const name of expected) {
        t.ok(name in claims, `${name} is in the ID token`);
        t.ok(name in userinfo, `${name} is in userinfo`);
      }
    });
  }

  t.test('oidcc-scope-address, oidcc-scope-phone: scopes that do not exist here are ignored', async (t) => {
    const { tokens } = await claimsOf({ scope: 'openid address phone email' });
    t.equal(tokens.scope, 'openid email');
  });

  for (const [module, parameters] of [
    ['oidcc-display-page', { display: 'page' }],
    ['oidcc-display-popup', { display: 'popup' }],
    ['oidcc-ensure-request-with-unknown-parameter-succeeds', { extra: 'foobar' }],
    ['oidcc-login-hint', { login_hint: 'buffy@example.com' }],
    ['oidcc-ui-locales', { ui_locales: 'se fr' }],
    ['oidcc-claims-locales', { claims_locales: 'se' }],
    ['oidcc-ensure-request-with-acr-values-succeeds', { acr_values: '1 2' }],
    ['oidcc-claims-essential', { claims: '{"userinfo":{"name":{"essential":true}}}' }],
  ] as const) {
    t.test(`${module}: a request with ${Object.keys(parameters)} succeeds`, async (t) => {
      t.equal((await claimsOf(parameters)).claims.sub, sub);
    });
  }

  t.test('oidcc-prompt-login: a user who is signed in must sign in again', async (t) => {
    const before = (await claimsOf()).claims.auth_time ?? 0;
    const { url: page } = await ask({ prompt: 'login' });
    t.match(page.pathname, /^\/account\/authorize\//);
    t.equal((await follow(page)).url.pathname, page.pathname, 'nothing else continues the request');
    clock.advance(2_000);
    t.equal((await reauthenticate()).status, 204);
    const checks = { pkceCodeVerifier: verifier, expectedState: 'the state', expectedNonce: 'the nonce' };
    const tokens = await oidc.authorizationCodeGrant(config, (await follow(page)).url, checks);
    t.ok((tokens.claims()?.auth_time ?? 0) > before);
  });

  t.test('oidcc-prompt-none-not-logged-in: the client is told that the user is not signed in', async (t) => {
    const { url: back } = await ask({ prompt: 'none' }, fetchWith(createJar()) as typeof fetch);
    t.match(Object.fromEntries(back.searchParams), { error: 'login_required', state: 'the state' });
  });

  t.test('oidcc-prompt-none-logged-in: the client gets a code without a page', async (t) => {
    t.equal((await claimsOf({ prompt: 'none' })).claims.sub, sub);
  });

  t.test('oidcc-max-age-1: an older sign-in is not enough', async (t) => {
    const { now } = Date;
    t.teardown(() => Object.assign(Date, { now }));
    Object.assign(Date, { now: () => now() + minute });
    const { url: page } = await ask({ max_age: '1' });
    t.match(page.pathname, /^\/account\/authorize\//);
    const { url: refused } = await ask({ max_age: '1', prompt: 'none' });
    t.equal(refused.searchParams.get('error'), 'login_required');
    await reauthenticate();
    const back = (await follow(page)).url;
    const checks = { pkceCodeVerifier: verifier, expectedState: 'the state', expectedNonce: 'the nonce', maxAge: 30 };
    t.ok((await oidc.authorizationCodeGrant(config, back, checks)).claims()?.auth_time);
  });

  t.test('oidcc-max-age-10000: a recent sign-in is enough', async (t) => {
    const [first, second] = [await claimsOf(), await claimsOf({ max_age: '10000' })];
    t.equal(second.claims.auth_time, first.claims.auth_time);
  });

  t.test('oidcc-id-token-hint: the request is about the user of the hint', async (t) => {
    const { tokens } = await claimsOf();
    const hint = { prompt: 'none', id_token_hint: tokens.id_token ?? '' };
    t.equal((await claimsOf(hint)).claims.sub, sub);
    const user = { email: 'another@example.com', password: 'the password of another user' };
    await provider.post('/users', user, { authorization: 'Bearer the-static-token-of-the-administrator' });
    const other = await provider.browser(user);
    const { url: back } = await ask(hint, other.fetch);
    t.equal(back.searchParams.get('error'), 'login_required');
  });

  t.test(
    'oidcc-codereuse, oidcc-codereuse-30seconds: a code is used once, and a second use ends its tokens',
    async (t) => {
      for (const wait of [0, 31_000]) {
        const code = await codeOf();
        const { body } = await exchange(code);
        clock.advance(wait);
        t.match(await exchange(code), { status: 400, body: { error: 'invalid_grant' } });
        t.match(await oidc.tokenIntrospection(config, body.access_token ?? ''), { active: false });
      }
    },
  );

  t.test('oidcc-ensure-registered-redirect-uri: another redirect URI gets an error page', async (t) => {
    const { status, page } = await ask({ redirect_uri: `${redirectUri}/x` });
    t.equal(status, 400);
    t.match(page, '<html');
  });

  t.test('oidcc-ensure-post-request-succeeds: a request can be a form', async (t) => {
    const body = new URLSearchParams(await query());
    const response = await browser.fetch(`${url}/oauth/authorize`, { method: 'POST', body, redirect: 'manual' });
    t.equal(response.status, 303);
    const { url: back } = await follow(response.headers.get('location') ?? '');
    t.ok(back.searchParams.has('code'));
  });

  t.test(
    'oidcc-request-uri-unsigned, oidcc-unsigned-request-object, oidcc-ensure-request-object-with-redirect-uri: rejected as unsupported',
    async (t) => {
      const none = Buffer.from('{"alg":"none"}').toString('base64url');
      const claims = Buffer.from(JSON.stringify(await query())).toString('base64url');
      t.equal((await ask({ request: `${none}.${claims}.` })).url.searchParams.get('error'), 'request_not_supported');
      const byUri = (await ask({ request_uri: 'https://app.example.com/request.jwt' })).url.searchParams;
      t.match(byUri.get('error'), /^(?:request_uri_not_supported|invalid_request_uri)$/);
      t.equal(config.serverMetadata().request_uri_parameter_supported, false);
      t.notOk(config.serverMetadata().request_parameter_supported);
    },
  );

  t.test('oidcc-refresh-token: a refresh gives an ID token for the same sign-in', async (t) => {
    const { tokens, claims } = await claimsOf({ scope: 'openid offline_access' });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
    const { iss, aud, auth_time } = claims;
    t.match(refreshed.claims(), { iss, sub, aud, auth_time });
    const stranger = await provider.discover(await provider.addClient());
    await fails(t, oidc.refreshTokenGrant(stranger, refreshed.refresh_token ?? ''), 'invalid_grant');
  });

  t.test('oidcc-ensure-request-with-valid-pkce-succeeds: the verifier is checked', async (t) => {
    t.equal((await exchange(await codeOf())).status, 200);
    const wrong = { headers: basic, form: { code_verifier: 'x'.repeat(43) } };
    t.match(await exchange(await codeOf(), wrong), { status: 400, body: { error: 'invalid_grant' } });
  });

  t.test('oidcc-discovery-endpoint-verification: the metadata is complete', async (t) => {
    const response = await fetch(`${url}/.well-known/openid-configuration`);
    t.match(response.headers.get('content-type'), 'application/json');
    const metadata = (await response.json()) as Record<string, unknown>;
    t.match(metadata, {
      issuer: url,
      authorization_endpoint: `${url}/oauth/authorize`,
      token_endpoint: `${url}/oauth/token`,
      userinfo_endpoint: `${url}/oauth/userinfo`,
      jwks_uri: `${url}/oauth/jwks`,
      end_session_endpoint: `${url}/oauth/end-session`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      grant_types_supported: Array,
      code_challenge_methods_supported: ['S256'],
    });
    for (const [name, expected] of [
      ['id_token_signing_alg_values_supported', ['RS256', 'ES256', 'EdDSA']],
      ['scopes_supported', ['openid', 'profile', 'email', 'offline_access']],
      ['claims_supported', ['sub', 'email', 'roles', 'groups', 'auth_time']],
      ['grant_types_supported', ['authorization_code', 'refresh_token', 'client_credentials']],
    ] as const) {
      for (const value of expected) t.ok((metadata[name] as string[]).includes(value), `${name}: ${value}`);
    }
    const keys = (await (await fetch(String(metadata.jwks_uri))).json()) as { keys: Record<string, unknown>[] };
    t.ok(keys.keys.length >= 3);
    for (const key of keys.keys) {
      t.match(key, { kid: String, kty: String, use: 'sig', alg: String });
      for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) t.notOk(name in key, `${key.alg}: no private ${name}`);
    }
    t.equal(new Set(keys.keys.map(({ kid }) => kid)).size, keys.keys.length);
    const same = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
    t.strictSame(same, metadata, 'RFC 8414');
  });

  t.test('oidcc-formpost-basic: the response can be a form that the browser posts to the client', async (t) => {
    const { page = '', url: at } = await ask({ response_mode: 'form_post' });
    t.equal(at.origin, url);
    t.match(page, `action="${redirectUri}"`);
    t.match(page, /name="state" value="the state"/);
    const [, code = ''] = /name="code" value="([^"]+)"/.exec(page) ?? [];
    t.equal((await exchange(code)).status, 200);
    const attack = '"><script>alert(1)</script>';
    const { page: hostile = '' } = await ask({ response_mode: 'form_post', state: attack });
    t.notMatch(hostile, '<script>alert');
    const response = await browser.fetch(
      `${url}/oauth/authorize?${new URLSearchParams(await query({ response_mode: 'form_post' }))}`,
    );
    t.match(response.headers.get('content-security-policy'), "default-src 'none'");
    t.equal(response.headers.get('cache-control'), 'no-store');
    const error = await ask(
      { response_mode: 'form_post', prompt: 'none', max_age: '0' },
      fetchWith(createJar()) as typeof fetch,
    );
    t.match(error.page, /name="error" value="login_required"/);
  });

  /** Signs out in a browser of its own, with what the modules leave out or change. @returns where the browser is, and whether it is still signed in */
  const signOut = async (change: (parameters: Parameters) => Parameters) => {
    const own = await provider.browser(administrator);
    const { id_token: hint = '' } = await own.signIn(config);
    const parameters = change({ id_token_hint: hint, post_logout_redirect_uri: after, state: 's' });
    const end = await follow(`${url}/oauth/end-session?${new URLSearchParams(parameters)}`, own.fetch);
    const { status } = await own.fetch(`${url}/users/me`);
    return { at: end.url.origin === url ? end.url.pathname : end.url.href, isSignedIn: status === 200 };
  };
  const asks = { at: '/account/sign-out', isSignedIn: true };
  const done = { at: '/account/login', isSignedIn: false };
  for (const [module, expected, change] of [
    ['oidcc-rp-initiated-logout', { at: `${after}?state=s`, isSignedIn: false }, (all) => all],
    ['oidcc-rp-initiated-logout-no-state', { at: after, isSignedIn: false }, ({ state: _state, ...rest }) => rest],
    ['oidcc-rp-initiated-logout-no-id-token-hint', asks, ({ id_token_hint: _hint, ...rest }) => rest],
    ['oidcc-rp-initiated-logout-no-params', asks, () => ({})],
    ['oidcc-rp-initiated-logout-only-state', asks, () => ({ state: 's' })],
    ['oidcc-rp-initiated-logout-no-post-logout-redirect-uri', done, ({ id_token_hint }) => ({ id_token_hint })],
    [
      'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
      done,
      (all) => ({ ...all, post_logout_redirect_uri: `${after}/x` }),
    ],
    [
      'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
      done,
      (all) => ({ ...all, post_logout_redirect_uri: `${after}?foo=bar` }),
    ],
    [
      'oidcc-rp-initiated-logout-modified-id-token-hint',
      asks,
      (all) => ({ ...all, id_token_hint: `${all.id_token_hint?.slice(0, -6)}AAAAAA` }),
    ],
    ['oidcc-rp-initiated-logout-bad-id-token-hint', asks, (all) => ({ ...all, id_token_hint: 'x.y.z' })],
  ] as [string, object, (parameters: Parameters) => Parameters][]) {
    t.test(`${module}: signing out`, async (t) => t.strictSame(await signOut(change), expected));
  }

  t.test('oidcc-rp-initiated-logout-discovery-endpoint-verification: the metadata names the endpoint', async (t) => {
    t.equal(config.serverMetadata().end_session_endpoint, `${url}/oauth/end-session`);
  });
});
