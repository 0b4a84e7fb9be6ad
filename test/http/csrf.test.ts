// @suite embedded-only: hardly depends on the engine

import type { InjectOptions } from 'fastify';
import t, { type Test } from 'tap';
import { users } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { digestOfAccounts } from '../helpers/providers/provider-records.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { carry, logIn, sessionCookie, sessionOf } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const service = await startTestApp(t, {
  PUBLIC_URL: 'https://accounts.example.com',
  CORS_ENABLED: 'true',
  CORS_ORIGIN: 'https://app.example.com,https://partner.example,capacitor://localhost',
});
const { app, request } = service;
const own = { origin: 'https://accounts.example.com' };
const json = { 'content-type': 'application/json' };

type Headers = Record<string, string>;

/** Headers that browsers send with requests caused by a page of another site. */
const foreign: [what: string, headers: Headers][] = [
  ['another site', { origin: 'https://evil.example' }],
  ['a sandboxed frame, or a file', { origin: 'null' }],
  ['ours as a prefix', { origin: 'https://accounts.example.com.evil.example' }],
  ['ours as a suffix', { origin: 'https://evilaccounts.example.com' }],
  ['a listed origin as a suffix', { origin: 'https://evilapp.example.com' }],
  ['a listed origin as a prefix', { origin: 'https://app.example.com.evil.example' }],
  ['a subdomain', { origin: 'https://x.accounts.example.com' }],
  ['a sibling', { origin: 'https://blog.example.com' }],
  ['another scheme', { origin: 'http://accounts.example.com' }],
  ['another scheme of a listed origin', { origin: 'http://app.example.com' }],
  ['another port', { origin: 'https://accounts.example.com:8443' }],
  ['another port of a listed origin', { origin: 'https://app.example.com:8443' }],
  ['in upper case', { origin: 'https://ACCOUNTS.example.com' }],
  ['with a user', { origin: 'https://accounts.example.com@evil.example' }],
  ['the scheme of a listed app', { origin: 'capacitor://evil' }],
  ['with a slash', { origin: 'https://app.example.com/' }],
  ['with a path', { origin: 'https://app.example.com/x' }],
  ['two origins', { origin: 'https://app.example.com, https://evil.example' }],
  ['empty', { origin: '' }],
  ['no origin, but Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }],
  ['no origin, but Sec-Fetch-Site of a sibling', { 'sec-fetch-site': 'same-site' }],
  ['an unknown value', { 'sec-fetch-site': 'friendly' }],
  ['our origin, through another site', { ...own, 'sec-fetch-site': 'cross-site' }],
];

/** Headers of legitimate requests. */
const welcome: [what: string, headers: Headers][] = [
  ['not a browser', {}],
  ['our own page', own],
  ['a listed app', { origin: 'capacitor://localhost', 'sec-fetch-site': 'cross-site' }],
  ['our own page, with both headers', { ...own, 'sec-fetch-site': 'same-origin' }],
  ['the user', { 'sec-fetch-site': 'none' }],
  ['a page of a listed origin', { origin: 'https://app.example.com', 'sec-fetch-site': 'same-site' }],
  ['a page of a listed origin, on another site', { origin: 'https://partner.example', 'sec-fetch-site': 'cross-site' }],
  ['the requested address', { host: 'intern.example:8055', origin: 'http://intern.example:8055' }],
];

/** Checks that nothing is stored. */
async function changesNothing(t: Test, what: string, work: () => Promise<void>) {
  const before = await digestOfAccounts(app);
  await work();
  t.equal(await digestOfAccounts(app), before, `${what}: nothing was stored`);
}

const victim = await createUser(app);
const refreshable = await logIn(service, 'cookie', victim);
const signedIn = await logIn(service, 'session', victim);

/** Every kind of request that an attacker might want to cause. */
const attacks: [what: string, options: InjectOptions & { url: string }][] = [
  ['log out', { method: 'POST', url: '/auth/logout', ...refreshable.carrier }],
  ['log out of mode session', { method: 'POST', url: '/auth/logout', ...signedIn.carrier }],
  ['refresh', { method: 'POST', url: '/auth/refresh', ...refreshable.carrier }],
  ['refresh in mode session', { method: 'POST', url: '/auth/refresh', ...signedIn.carrier }],
  ['create', { method: 'POST', url: '/users', payload: { email: 'x@example.com' }, headers: signedIn.headers }],
  ['update', { method: 'PATCH', url: '/users/me', payload: { first_name: 'x' }, headers: signedIn.headers }],
  ['delete', { method: 'DELETE', url: '/users', payload: [victim.id], headers: signedIn.headers }],
  ['search', { method: 'SEARCH', url: '/users', payload: {}, headers: signedIn.headers }],
  ['end sessions', { method: 'DELETE', url: '/users/me/sessions', headers: signedIn.headers }],
  ['register', { method: 'POST', url: '/users/register', payload: administrator, headers: signedIn.headers }],
  ['log in', { method: 'POST', url: '/auth/login', payload: administrator, headers: signedIn.headers }],
  [
    'with an unusable cookie',
    { method: 'POST', url: '/auth/logout', ...carry('session', 'of-no-use', `__Host-${sessionCookie}`) },
  ],
  [
    'with an additional token',
    {
      method: 'DELETE',
      url: '/users/me/sessions',
      headers: { ...refreshable.carrier.headers, ...bearer(signedIn.token) },
    },
  ],
];

t.test('a page from another site cannot use our cookies (CVE-2023-27495)', async (t) => {
  for (const [attack, options] of attacks) {
    await changesNothing(t, attack, async () => {
      for (const [what, headers] of foreign) {
        const response = await request({ ...options, headers: { ...options.headers, ...headers } });
        refused(t, response, 'FORBIDDEN', `${attack}: ${what}`);
        t.equal(response.headers['set-cookie'], undefined, 'no cookie is set or cleared');
      }
    });
  }
});

t.test('no form can use our cookies, whatever its origin (CVE-2022-41919)', async (t) => {
  const types = [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'TEXT/Plain;charset=UTF-8',
    ' text/plain ',
    'text/plain, application/json',
    'text/plain; application/json',
  ];
  for (const [attack, options] of attacks) {
    const payload = JSON.stringify(options.payload ?? {});
    await changesNothing(t, attack, async () => {
      for (const type of types) {
        const headers = { ...options.headers, ...own, 'content-type': type };
        refused(t, await request({ ...options, payload, headers }), 'FORBIDDEN', `${attack}: ${type}`);
      }
    });
  }
});

t.test('our own pages, pages of listed origins and clients other than browsers are allowed', async (t) => {
  for (const [what, headers] of welcome) {
    for (const mode of ['cookie', 'session'] as const) {
      const response = await request({
        method: 'POST',
        url: '/auth/login',
        payload: { email: victim.email, password: victim.password, mode },
        headers,
      });
      t.equal(response.statusCode, 200, `login in mode ${mode}: ${what}`);
      const { payload, headers: cookie } = sessionOf(mode, response).carrier;
      const update = { method: 'PATCH', url: '/users/me/track/page', payload: { last_page: '/x' } } as const;
      if (mode === 'session')
        t.equal((await request({ ...update, headers: { ...cookie, ...headers } })).statusCode, 204, what);
      const out = await request({ method: 'POST', url: '/auth/logout', payload, headers: { ...cookie, ...headers } });
      t.equal(out.statusCode, 204, `logout in mode ${mode}: ${what}`);
    }
  }
});

t.test('a page of another site cannot log a user in with a cookie', async (t) => {
  const login = (mode: string | undefined, headers: Headers) =>
    request({ method: 'POST', url: '/auth/login', payload: { ...administrator, ...(mode ? { mode } : {}) }, headers });
  await changesNothing(t, 'login', async () => {
    for (const [what, headers] of foreign) {
      for (const mode of ['cookie', 'session']) {
        const response = await login(mode, headers);
        refused(t, response, 'FORBIDDEN', `${mode}: ${what}`);
        t.equal(response.headers['set-cookie'], undefined);
      }
    }
  });
  // Tokens in a body are useless to a page that cannot read the response, and do not affect the browser.
  for (const mode of [undefined, 'json']) {
    const response = await login(mode, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' });
    t.equal(response.statusCode, 200, String(mode));
    t.equal(response.headers['set-cookie'], undefined);
    t.equal(response.headers['access-control-allow-origin'], undefined);
  }
});

t.test('a page of another site cannot find out whether a password is correct', async (t) => {
  const [, evil] = foreign[0] ?? ['', {}];
  const payload = { ...administrator, mode: 'session', password: 'wrong' };
  refused(t, await request({ method: 'POST', url: '/auth/login', payload, headers: evil }), 'FORBIDDEN', 'wrong');
});

t.test('JSON sent as another type is not read', async (t) => {
  const count = await app.db.$count(users);
  for (const type of ['text/plain', 'text/plain; application/json', 'text/plain;x=application/json', 'text/json', '']) {
    const headers: Headers = type === '' ? {} : { 'content-type': type };
    const payload = Buffer.from(JSON.stringify({ ...administrator, mode: 'session' }));
    const response = await request({ method: 'POST', url: '/auth/login', payload, headers });
    refused(t, response, 'INVALID_PAYLOAD', `login as ${type || 'nothing'}`);
    t.equal(response.headers['set-cookie'], undefined);
  }
  t.equal(await app.db.$count(users), count);
});

t.test(
  'the requested address is taken from forwarded headers only if a trusted proxy sent them (CVE-2026-3635)',
  async (t) => {
    const behind = await startTestApp(t, { PUBLIC_URL: 'https://accounts.example.com', TRUST_PROXY: '10.0.0.0/8' });
    const session = await logIn(behind, 'session');
    const forged: Headers[] = [
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
      { 'x-forwarded-host': 'evil.example' },
      { forwarded: 'host=evil.example;proto=https', 'x-forwarded-proto': 'https' },
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', 'x-forwarded-for': '10.0.0.1' },
    ];
    for (const more of forged) {
      for (const origin of ['https://evil.example', 'http://evil.example']) {
        const headers = { ...session.headers, ...more, origin };
        for (const [method, url] of [
          ['DELETE', '/users/me/sessions'],
          ['POST', '/auth/logout'],
        ] as const) {
          const answer = await behind.request({ method, url, headers, remoteAddress: '198.51.100.1' });
          refused(t, answer, 'FORBIDDEN', `${url} ${JSON.stringify(more)} ${origin}`);
        }
        const payload = { ...administrator, mode: 'session' };
        const login = await behind.request({
          method: 'POST',
          url: '/auth/login',
          payload,
          headers: { ...more, origin },
          remoteAddress: '198.51.100.1',
        });
        refused(t, login, 'FORBIDDEN', `login ${JSON.stringify(more)} ${origin}`);
      }
    }
    const own = { ...session.headers, 'x-forwarded-host': 'intern.example', 'x-forwarded-proto': 'https' };
    const options = {
      method: 'DELETE',
      url: '/users/me/sessions',
      headers: { ...own, origin: 'https://intern.example' },
    } as const;
    t.equal((await behind.request({ ...options, remoteAddress: '10.1.2.3' })).statusCode, 204, 'from the proxy');
  },
);

t.test('cookies of other applications do not matter', async (t) => {
  const headers = { ...json, origin: 'https://evil.example', cookie: 'theme=dark' };
  const response = await request({ method: 'POST', url: '/auth/logout', payload: { refresh_token: 'x' }, headers });
  t.equal(response.statusCode, 204);
});

t.test('reading is not restricted, because no page of another site can read the response', async (t) => {
  for (const [what, headers] of foreign) {
    const response = await request({ method: 'GET', url: '/users/me', headers: { ...signedIn.headers, ...headers } });
    t.equal(response.statusCode, 200, what);
    t.equal(response.headers['access-control-allow-origin'], undefined, what);
  }
});
