import { SignJWT } from 'jose';
import * as oidc from 'openid-client';
import t from 'tap';
import { fails, redirectUri, startProvider } from '../helpers/applications/applications.js';
import { createJar, fetchWith } from '../helpers/browser/cookie-jar.js';
import { asAdmin } from '../helpers/http/writing.js';
import { redirectCorpus } from '../helpers/providers/redirect-corpus.js';
import { sampleOf } from '../helpers/runner/long.js';
import { administrator } from '../helpers/users/credentials.js';

/** Attacks through the browser of a user who is signed in. */
t.test('in the browser of a user', async (t) => {
  const provider = await startProvider(t);
  const { url } = provider;
  const web = await provider.addClient();
  const config = await provider.discover(web);
  const browser = await provider.browser(administrator);
  const verifier = oidc.randomPKCECodeVerifier();
  const challenge = {
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  const valid = {
    client_id: web.id,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    state: 'a state',
    ...challenge,
  };
  type Parameters = Record<string, string | undefined>;
  const formOf = (parameters: Parameters) =>
    new URLSearchParams(Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined));
  /** Sends an authorization request. @returns the status, and where the browser is redirected */
  const ask = async (parameters: Parameters | URLSearchParams, send = browser.fetch) => {
    const form = parameters instanceof URLSearchParams ? parameters : formOf({ ...valid, ...parameters });
    const response = await send(`${url}/oauth/authorize?${form}`, { redirect: 'manual' });
    const location = response.headers.get('location');
    return { status: response.status, to: location === null ? null : new URL(location, url) };
  };
  const codeOf = async (parameters: Parameters = {}) => (await ask(parameters)).to?.searchParams.get('code') ?? '';
  const errorOf = async (parameters: Parameters) => (await ask(parameters)).to?.searchParams.get('error') ?? null;
  const exchange = async (
    code: string,
    { id, secret }: { id: string; secret: string } = web,
    changes: Parameters = { code_verifier: verifier },
  ) => {
    const response = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
      body: formOf({ grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...changes }),
    });
    return (await response.json()) as Record<string, string>;
  };

  /** In groups, because each request takes some milliseconds. */
  const each = async <T>(items: readonly T[], work: (item: T) => Promise<void>) => {
    for (let start = 0; start < items.length; start += 20) await Promise.all(items.slice(start, start + 20).map(work));
  };

  const registered = [
    'https://app.example.com/welcome',
    'https://app.example.com/query?from=login',
    'http://localhost:3000/',
  ];
  /** For loopback addresses, any port is allowed (RFC 8252, 7.3). */
  const allowed = new Set([...registered, 'http://localhost:3001/', 'http://localhost/']);

  const corpus = [
    ...sampleOf(redirectCorpus, 4),
    ...[...allowed].map((each) => ({ url: each, why: 'a registered URL' })),
  ];

  t.test('a redirect URI that is not exactly a registered one gets no code, and no redirect', async (t) => {
    const { id: client_id } = await provider.addClient({ redirect_uris: registered });
    await each(corpus, async ({ url: redirect_uri, why }) => {
      const { status, to } = await ask({ client_id, redirect_uri }, fetch);
      const what = `${why}: ${encodeURI(redirect_uri)}`;
      if (allowed.has(redirect_uri)) t.match(to?.pathname, /^\/account\/authorize\//, what);
      else t.strictSame([status, to], [400, null], what);
    });
    for (const redirect_uri of [undefined, ''])
      t.strictSame(await ask({ client_id, redirect_uri }), { status: 400, to: null });
    const pushed = await fetch(`${url}/oauth/par`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${web.id}:${web.secret}`)}` },
      body: formOf({ ...valid, redirect_uri: 'https://evil.example/' }),
    });
    t.equal(pushed.status, 400);
  });

  t.test('signing out redirects only to registered URLs', async (t) => {
    const client = await provider.addClient({ post_logout_redirect_uris: registered });
    const tokens = await browser.signIn(await provider.discover(client));
    const hint = { id_token_hint: tokens.id_token };
    await each(corpus, async ({ url: post_logout_redirect_uri, why }) => {
      const form = formOf({ ...hint, post_logout_redirect_uri });
      const { headers } = await fetch(`${url}/oauth/end-session?${form}`, { redirect: 'manual' });
      const expected = allowed.has(post_logout_redirect_uri)
        ? post_logout_redirect_uri
        : '/account/login?notice=signed-out';
      t.equal(headers.get('location'), expected, `${why}: ${encodeURI(post_logout_redirect_uri)}`);
    });
    const unproven = { client_id: client.id, post_logout_redirect_uri: 'https://evil.example/' };
    const page = await fetch(`${url}/account/sign-out?${formOf(unproven)}`);
    t.equal(page.status, 200);
    t.notMatch(await page.text(), 'evil.example');
    const other = await provider.addClient({ post_logout_redirect_uris: ['https://other.example.com/'] });
    for (const mixed of [
      { ...hint, client_id: other.id, post_logout_redirect_uri: 'https://other.example.com/' },
      { ...hint, post_logout_redirect_uri: 'https://other.example.com/' },
    ]) {
      const { headers } = await fetch(`${url}/oauth/end-session?${formOf(mixed)}`, { redirect: 'manual' });
      t.notMatch(headers.get('location'), /^https:/, 'the URL of another client');
    }
  });

  t.test('another site cannot sign the user out without asking', async (t) => {
    const victim = await provider.browser(administrator);
    const attacker = { email: 'attacker@example.com', password: 'the password of an attacker' };
    t.equal((await provider.post('/users', attacker, asAdmin)).statusCode, 200);
    const stranger = await provider.browser(attacker);
    const foreign = (await stranger.signIn(config)).id_token;
    for (const parameters of [{}, { client_id: web.id }, { id_token_hint: foreign }, { id_token_hint: 'x' }]) {
      for (const init of [{}, { method: 'POST', body: formOf(parameters) }] satisfies RequestInit[]) {
        const query = 'method' in init ? '' : `?${formOf(parameters)}`;
        const response = await victim.fetch(`${url}/oauth/end-session${query}`, { redirect: 'manual', ...init });
        t.match(response.headers.get('location'), /^\/account\/sign-out/, Object.keys(parameters).join());
      }
    }
    t.equal((await victim.fetch(`${url}/users/me`)).status, 200);
  });

  t.test('a code is bound to its client, its redirect URI, and its verifier', async (t) => {
    const other = await provider.addClient();
    const attempts: [string, Parameters?, typeof web?][] = [
      ['another client', { code_verifier: verifier }, other],
      ['another verifier', { code_verifier: oidc.randomPKCECodeVerifier() }],
      ['the challenge as verifier', { code_verifier: challenge.code_challenge }],
      ['no verifier', {}],
      ['an empty verifier', { code_verifier: '' }],
      ['another redirect URI', { code_verifier: verifier, redirect_uri: 'https://evil.example/' }],
      ['no redirect URI', { code_verifier: verifier, redirect_uri: undefined }],
    ];
    const code = await codeOf();
    for (const [what, changes, by] of attempts) {
      const { error, access_token: token } = await exchange(code, by, changes);
      t.match(error, /^invalid_(?:grant|request)$/, what);
      t.notOk(token, what);
    }
    t.ok((await exchange(code)).access_token, 'failed attempts do not use it up');
    t.equal((await exchange(code)).error, 'invalid_grant', 'but it is used once');
  });

  t.test(
    'a code that is injected into another session is useless to the attacker, and noticed by the client',
    async (t) => {
      const stolen = new URL(
        `${redirectUri}?${formOf({ code: await codeOf({ nonce: 'of the victim' }), state: 's', iss: url })}`,
      );
      const checks = { expectedState: 's', expectedNonce: 'of the attacker' };
      const own = oidc.randomPKCECodeVerifier();
      await fails(
        t,
        oidc.authorizationCodeGrant(config, stolen, { ...checks, pkceCodeVerifier: own }),
        'invalid_grant',
      );
      await t.rejects(
        oidc.authorizationCodeGrant(config, stolen, { ...checks, pkceCodeVerifier: verifier }),
        { code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' },
        'the ID token contains the nonce of its own request',
      );
    },
  );

  t.test('PKCE cannot be left out or weakened', async (t) => {
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    const plain = { code_challenge: verifier, code_challenge_method: 'plain' };
    t.equal(await errorOf(without), 'invalid_request', 'required');
    t.equal(await errorOf({ ...without, nonce: 'n' }), 'invalid_request', 'even with a nonce');
    t.equal(await errorOf(plain), 'invalid_request', 'not plain');
    t.equal(await errorOf({ code_challenge_method: undefined }), 'invalid_request', 'plain is the default');
    t.equal(await errorOf({ code_challenge: undefined }), 'invalid_request', 'not only the method');
    t.match(config.serverMetadata().code_challenge_methods_supported, ['S256']);

    const legacy = await provider.addClient({ pkce_required: false });
    const byLegacy = { client_id: legacy.id };
    t.equal(await errorOf({ ...byLegacy, ...without }), 'invalid_request', 'a client without PKCE sends a nonce');
    t.equal(await errorOf({ ...byLegacy, ...plain, nonce: 'n' }), 'invalid_request', 'plain is never allowed');
    const code = await codeOf({ ...byLegacy, ...without, nonce: 'n' });
    t.match(
      await exchange(code, legacy),
      { error: 'invalid_grant' },
      'a verifier without a challenge (RFC 9700, 2.1.1)',
    );
    t.ok((await exchange(code, legacy, {})).access_token);
    const bound = await codeOf({ ...byLegacy, nonce: 'n' });
    t.match(await exchange(bound, legacy, {}), { error: 'invalid_grant' }, 'a challenge without its verifier');
  });

  t.test('every response names the issuer, so that a client does not mix up its providers (RFC 9207)', async (t) => {
    t.equal(config.serverMetadata().authorization_response_iss_parameter_supported, true);
    const declined = await provider.addClient({ first_party: false });
    for (const parameters of [
      {},
      { prompt: 'none', max_age: '0' },
      { scope: 'openid users:read' },
      { response_type: 'token' },
    ]) {
      const { to } = await ask(parameters);
      t.equal(
        to?.searchParams.get('iss') ?? new URLSearchParams(to?.hash.slice(1)).get('iss'),
        url,
        JSON.stringify(parameters),
      );
    }
    const refused = await browser.authorize(
      `${url}/oauth/authorize?${formOf({ ...valid, client_id: declined.id })}`,
      false,
    );
    t.match(Object.fromEntries(refused.searchParams), { error: 'access_denied', iss: url });
    const mixed = new URL(
      `${redirectUri}?${formOf({ code: await codeOf(), state: 's', iss: 'https://evil.example' })}`,
    );
    await t.rejects(oidc.authorizationCodeGrant(config, mixed, { expectedState: 's', pkceCodeVerifier: verifier }), {
      code: 'OAUTH_INVALID_RESPONSE',
    });
  });

  t.test('only the code flow is available, and codes do not appear in fragments', async (t) => {
    for (const response_type of ['token', 'id_token', 'code id_token', 'code token', 'id_token token', 'none', 'x']) {
      const { to } = await ask({ response_type, nonce: 'n' });
      t.match(to?.href, /unsupported_response_type/, response_type);
      t.notMatch(to?.href, /(?:access_token|id_token|code)=/, response_type);
    }
    t.equal(await errorOf({ response_mode: 'fragment' }), null);
    const { to } = await ask({ response_mode: 'x' });
    t.notOk(to?.searchParams.has('code'));
  });

  t.test('request objects are refused, and no URL in a request is fetched', async (t) => {
    const key = new TextEncoder().encode(web.secret);
    const claims = { ...valid, redirect_uri: 'https://evil.example/' };
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;
    const signed = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key);
    for (const request of [unsigned, signed, 'x']) t.equal(await errorOf({ request }), 'request_not_supported');
    for (const request_uri of [
      `${url}/x`,
      'https://evil.example/',
      'http://169.254.169.254/',
      'file:///etc/passwd',
      'x',
    ]) {
      const { to } = await ask({ request_uri });
      t.notOk(to?.searchParams.has('code'), request_uri);
      t.not(to?.origin, 'https://evil.example');
    }
    const push = async ({ id, secret }: typeof web) => {
      const response = await fetch(`${url}/oauth/par`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
        body: formOf({ ...valid, client_id: id }),
      });
      return ((await response.json()) as { request_uri: string }).request_uri;
    };
    const other = await provider.addClient();
    const { to } = await ask(formOf({ client_id: web.id, request_uri: await push(other) }));
    t.notOk(to?.searchParams.has('code'), 'the pushed request of another client');
    const overridden = await ask(
      formOf({
        client_id: web.id,
        request_uri: await push(web),
        redirect_uri: 'https://evil.example/',
        scope: 'openid email',
      }),
    );
    t.not(overridden.to?.origin, 'https://evil.example', 'the pushed request takes precedence');
  });

  t.test('parameters that occur twice, or are too long, are refused', async (t) => {
    for (const name of Object.keys(valid)) {
      const twice = formOf(valid);
      twice.append(name, name === 'redirect_uri' ? 'https://evil.example/' : 'x');
      const { status, to } = await ask(twice);
      t.notOk(to?.searchParams.has('code'), name);
      t.not(to?.origin, 'https://evil.example', name);
      t.ok(to ? to.searchParams.get('error') === 'invalid_request' : status === 400, name);
    }
    const long = 'x'.repeat(7_000);
    for (const parameters of [
      { state: long },
      { nonce: long },
      { login_hint: long },
      { scope: `openid ${long}` },
      { unknown: long },
    ]) {
      t.ok((await ask(parameters)).status < 500, Object.keys(parameters).join());
    }
    for (const size of [8_000, 100_000, 2_000_000]) {
      const form = formOf({ ...valid, state: 'x'.repeat(size) });
      const response = await browser.fetch(`${url}/oauth/authorize`, {
        method: 'POST',
        body: form,
        redirect: 'manual',
      });
      t.ok([400, 413].includes(response.status), `${size}: ${response.status}`);
      const body = formOf({ grant_type: 'authorization_code', code: 'x'.repeat(size) });
      const { status } = await fetch(`${url}/oauth/token`, { method: 'POST', body });
      t.ok([400, 401, 413].includes(status), `${size}: ${status}`);
    }
    const many = new URLSearchParams(Array.from({ length: 5_000 }, (_, index): [string, string] => [`p${index}`, '1']));
    t.ok((await fetch(`${url}/oauth/token`, { method: 'POST', body: many })).status < 500);
    const headers = { authorization: `Basic ${btoa(`${web.id}:${web.secret}`)}` };
    for (const [name, value] of [
      ['grant_type', 'client_credentials'],
      ['code', 'x'],
      ['code_verifier', verifier],
      ['redirect_uri', redirectUri],
    ] as const) {
      const twice = formOf({
        grant_type: 'authorization_code',
        code: await codeOf(),
        redirect_uri: redirectUri,
        code_verifier: verifier,
      });
      twice.append(name, value);
      const response = await fetch(`${url}/oauth/token`, { method: 'POST', headers, body: twice });
      t.match(await response.json(), { error: 'invalid_request' }, name);
    }
  });

  t.test(
    'another site can neither give consent for the user, nor frame the page, nor use another browser',
    async (t) => {
      const { id: client_id } = await provider.addClient({ first_party: false });
      const { to } = await ask({ client_id });
      const page = new URL(to?.href ?? '');
      t.match(page.pathname, /^\/account\/authorize\//);
      const shown = await browser.fetch(page);
      t.equal(shown.status, 200);
      t.match(shown.headers.get('content-security-policy'), "frame-ancestors 'none'");
      t.equal(shown.headers.get('x-frame-options'), 'DENY');
      const decide = (headers: Record<string, string>, send = browser.fetch, body = '{"allow":true}') =>
        send(page, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body,
          redirect: 'manual',
        });
      const foreign = [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
      ];
      for (const headers of foreign) t.equal((await decide(headers)).status, 403, JSON.stringify(headers));
      for (const type of ['application/x-www-form-urlencoded', 'text/plain']) {
        t.ok((await decide({ 'content-type': type }, browser.fetch, 'allow=true')).status >= 400, type);
      }
      const another = await provider.browser(administrator);
      t.equal((await another.fetch(page)).status, 404, 'in another browser of the same user');
      t.equal((await decide({ origin: url }, another.fetch)).status, 403);
      const anonymous = fetchWith(createJar()) as typeof fetch;
      t.equal((await decide({ origin: url }, anonymous)).status, 403);
      t.match(await (await browser.fetch(`${url}/users/me/grants`)).json(), { data: [] });
      const device = await provider.addClient({
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
        redirect_uris: [],
      });
      const scope = { scope: 'openid' };
      const { user_code } = await oidc.initiateDeviceAuthorization(await provider.discover(device), scope);
      for (const headers of foreign) {
        const body = JSON.stringify({ user_code, allow: true });
        const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
        t.equal((await browser.fetch(`${url}/account/device`, sent)).status, 403, JSON.stringify(headers));
      }
      t.equal((await decide({ origin: url })).status, 200, 'the page itself can');
    },
  );

  t.test('a code in the URL of the device page is neither sent nor confirmed without the user', async (t) => {
    const device = await provider.addClient({
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: [],
      first_party: true,
    });
    const started = await oidc.initiateDeviceAuthorization(await provider.discover(device), { scope: 'openid' });
    const complete = started.verification_uri_complete ?? '';
    const page = await browser.fetch(complete);
    t.equal(page.status, 200);
    t.match(page.headers.get('content-security-policy'), "frame-ancestors 'none'");
    const poll = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${device.id}:${device.secret}`)}` },
      body: formOf({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: started.device_code }),
    });
    t.match(await poll.json(), { error: 'authorization_pending' }, 'a first-party client must be confirmed, too');
  });
});
