// @suite not-everyday: tries every endpoint

import { sql } from 'drizzle-orm';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import * as oidc from 'openid-client';
import t, { type Test } from 'tap';
import { redirectUri, startProvider } from '../helpers/applications/applications.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { protocolOperations } from '../helpers/openapi/operations.js';
import { bearer, cutDatabase, startTestApp, type TestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

/** What every endpoint of OpenID Connect has in common. The responses are checked against the OpenAPI document. */

const unknownClient = '6f0c2a4e-51f7-4a0c-9d0e-6b8f0d1c2a3b';
const parameters = new URLSearchParams({
  client_id: unknownClient,
  grant_type: 'refresh_token',
  token: 'x',
}).toString();
const formType = { 'content-type': 'application/x-www-form-urlencoded' };

/** A request to each endpoint, which needs the database. */
const requests = protocolOperations().map(({ operationId, method, url }) => ({
  operationId,
  options: ((method as string) === 'POST'
    ? { method, url, payload: parameters, headers: formType }
    : { method, url: `${url}?${parameters}` }) as InjectOptions & { headers?: Record<string, string> },
}));

/** Asserts that a response is an error as in RFC 6749, 5.2. */
function isOAuthError(t: Test, response: LightMyRequestResponse, status: number, error: string, what: string): void {
  t.equal(response.statusCode, status, what);
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8', what);
  t.match(response.json(), { error, error_description: String }, what);
  t.notOk('errors' in response.json(), what);
}

async function everyEndpoint(
  { request }: TestApp,
  see: (response: LightMyRequestResponse, operationId: string) => void,
  more: Record<string, string> = {},
) {
  for (const { operationId, options } of requests)
    see(await request({ ...options, headers: { ...options.headers, ...more } }), operationId);
}

t.test('every endpoint rejects a request that two servers could read differently', async (t) => {
  await everyEndpoint(
    await startTestApp(t),
    (response, operationId) => isOAuthError(t, response, 400, 'invalid_request', operationId),
    { 'transfer-encoding': 'gzip' },
  );
});

t.test('every endpoint has the limit of requests', async (t) => {
  const service = await startTestApp(t, {
    RATE_LIMITER_ENABLED: 'true',
    RATE_LIMITER_POINTS: '1',
    RATE_LIMITER_DURATION: '3600',
  });
  await service.get('/server/info');
  await everyEndpoint(service, (response, operationId) => {
    isOAuthError(t, response, 429, 'temporarily_unavailable', operationId);
    t.ok(Number(response.headers['retry-after']) > 0, operationId);
  });
});

/** Only redirects. */
const needsNothing = 'authorizeByForm';

t.test('every endpoint reports a failure of the service, and nothing about it', async (t) => {
  const service = await startTestApp(t);
  await service.app.db.execute(sql`alter table signing_keys rename to put_away`);
  await everyEndpoint(service, (response, operationId) => {
    if (operationId === needsNothing) t.equal(response.statusCode, 303);
    else isOAuthError(t, response, 500, 'server_error', operationId);
    t.notMatch(response.body, /signing_keys|select/i);
  });
});

t.test('every endpoint reports that the database is unavailable', async (t) => {
  const service = await startTestApp(t);
  await cutDatabase(service);
  await everyEndpoint(service, (response, operationId) => {
    if (operationId === needsNothing) t.equal(response.statusCode, 303);
    else isOAuthError(t, response, 503, 'temporarily_unavailable', operationId);
  });
});

t.test('no endpoint fails because of malformed headers, bodies, or parameters', async (t) => {
  const service = await startTestApp(t);
  const strange: [what: string, headers: Record<string, string>, payload?: string][] = [
    ...['Basic', 'Basic %', 'Basic YTpi', 'Bearer', 'Bearer x', 'DPoP x', '"', '\u00e9'].map(
      (authorization): [string, Record<string, string>] => [authorization, { authorization }],
    ),
    ['a DPoP proof', { dpop: 'a.b.c' }],
    ['a session cookie', { cookie: 'gatehouse_session_token=x' }],
    ['JSON', { 'content-type': 'application/json' }, '{"token": "x"}'],
    ['text', { 'content-type': '/' }, 'token=x'],
    ['repeated parameters', formType, `${parameters}&${parameters}`],
    ['unknown parameters', formType, `${parameters}&unknown=1&__proto__=x&a[b]=c`],
    ['malformed encoding', formType, 'token=%zz&client_id=%00&grant_type=%ff'],
    ['no body', formType, ''],
  ];
  for (const { operationId, options } of requests) {
    for (const [what, headers, payload] of strange) {
      const isForm = options.payload !== undefined && payload !== undefined;
      const url = isForm ? options.url : `${String(options.url).split('?')[0]}?${payload ?? parameters}`;
      const response = await service.request({
        ...options,
        url: url as string,
        headers: { ...options.headers, ...headers },
        ...(isForm ? { payload } : {}),
      });
      if (response.statusCode >= 500) t.fail(`${operationId}: ${what}: ${response.body}`);
    }
  }
});

t.test('what the endpoints return', async (t) => {
  const provider = await startProvider(t);
  const { url } = provider;
  const client = await provider.addClient();
  const config = await provider.discover(client);
  const browser = await provider.browser(administrator);
  const form = (parameters: Record<string, string>, headers: Record<string, string> = {}) => ({
    method: 'POST',
    body: new URLSearchParams(parameters),
    headers,
    redirect: 'manual' as const,
  });

  t.test('both metadata documents have the same content', async (t) => {
    const [one, other] = await Promise.all(
      ['openid-configuration', 'oauth-authorization-server'].map(async (name) =>
        (await checkedFetch(`${url}/.well-known/${name}`)).json(),
      ),
    );
    t.strictSame(one, other);
    t.equal((await checkedFetch(`${url}/oauth/jwks`)).status, 200);
  });

  t.test('claims, for a token with the scope openid', async (t) => {
    const { access_token: token } = await browser.signIn(config, { scope: 'openid email' });
    const { access_token: other } = await browser.signIn(config, { scope: 'email' });
    for (const [method, headers, body] of [
      ['GET', bearer(token)],
      ['POST', bearer(token)],
      ['POST', {}, new URLSearchParams({ access_token: token })],
    ] as const) {
      const response = await checkedFetch(`${url}/oauth/userinfo`, { method, headers, ...(body ? { body } : {}) });
      t.match(await response.json(), { sub: String, email: administrator.email });
    }
    for (const method of ['GET', 'POST']) {
      const statuses = await Promise.all(
        [{}, bearer('unknown'), bearer(other)].map(
          async (headers) => (await checkedFetch(`${url}/oauth/userinfo`, { method, headers })).status,
        ),
      );
      t.strictSame(statuses, [401, 401, 403], method);
    }
  });

  t.test('a wrong secret is refused everywhere', async (t) => {
    const authorization = `Basic ${btoa(`${client.id}:${'x'.repeat(40)}`)}`;
    for (const path of ['token', 'par', 'device', 'introspect', 'revoke']) {
      const response = await checkedFetch(`${url}/oauth/${path}`, form({ token: 'x' }, { authorization }));
      t.equal(response.status, 401, path);
      t.match(response.headers.get('www-authenticate'), /^Basic .*error="invalid_client"/);
      t.match(await response.json(), { error: 'invalid_client' });
    }
  });

  t.test('a redirect, a form, or a page', async (t) => {
    const verifier = oidc.randomPKCECodeVerifier();
    const request = {
      client_id: client.id,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    const authorize = (parameters: Record<string, string>) =>
      browser.fetch(`${url}/oauth/authorize?${new URLSearchParams(parameters)}`, { redirect: 'manual' });
    const redirected = await authorize(request);
    t.equal(redirected.status, 303);
    t.match(redirected.headers.get('location'), `${redirectUri}?code=`);
    t.equal(await redirected.text(), '');
    const page = await authorize({ ...request, response_mode: 'form_post' });
    t.equal(page.status, 200);
    t.match(await page.text(), /<input type="hidden" name="code"/);
    t.equal((await authorize({ ...request, redirect_uri: 'https://evil.example/' })).status, 400);
    const posted = await browser.fetch(`${url}/oauth/authorize`, form(request));
    t.match(posted.headers.get('location'), `/oauth/authorize?client_id=${client.id}`);
    t.equal((await browser.fetch(`${url}/oauth/authorize`, form({ state: 'x'.repeat(9_000) }))).status, 400);
  });

  t.test('signing out', async (t) => {
    const { id_token: hint = '' } = await browser.signIn(config, { scope: 'openid' });
    const asked = await browser.fetch(`${url}/oauth/end-session`, { redirect: 'manual' });
    t.match(asked.headers.get('location'), '/account/sign-out');
    const done = await browser.fetch(`${url}/oauth/end-session`, form({ id_token_hint: hint }));
    t.match(done.headers.get('location'), '/account/login');
  });
});
