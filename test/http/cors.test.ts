// @suite embedded-only: hardly depends on the engine

import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { refused } from '../helpers/http/refusals.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';
import { logIn } from '../helpers/users/sessions.js';

const listed = ['https://app.example.com', 'http://localhost:5173', 'capacitor://localhost'];
const { app, request, ...service } = await startTestApp(t, { CORS_ENABLED: 'true', CORS_ORIGIN: listed.join(', ') });
const off = await startTestApp(t, { CORS_ORIGIN: listed.join(',') });

const corsHeaders = ({ headers }: LightMyRequestResponse) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));

/** Origins that are not exactly on the list. */
const strangers = [
  'null',
  '*',
  '',
  'https://evil.example',
  'https://app.example.com.evil.example',
  'https://evilapp.example.com',
  'https://evil.example/https://app.example.com',
  'https://app.example.com@evil.example',
  'https://user@app.example.com',
  'https://x.app.example.com',
  'https://example.com',
  'http://app.example.com',
  'https://app.example.com:443',
  'https://app.example.com:8443',
  'http://localhost',
  'capacitor://',
  'capacitor://localhost:1',
  'tauri://localhost',
  'http://localhost:51730',
  'HTTPS://APP.EXAMPLE.COM',
  'https://App.example.com',
  'https://app.example.com/',
  'https://app.example.com/x',
  'https://app.example.com?',
  'https://app.example.com.',
  'https://app.example.com, https://evil.example',
  'https://app.example.com https://evil.example',
  'https://аpp.example.com',
];

const varies = ({ headers }: LightMyRequestResponse) =>
  String(headers.vary ?? '')
    .toLowerCase()
    .split(/,\s*/)
    .includes('origin');

t.test('pages of listed origins can read responses, including errors', async (t) => {
  const { headers } = await logIn({ app, request, ...service }, 'session');
  for (const origin of listed) {
    for (const [url, status] of [
      ['/server/info', 200],
      ['/users/me', 200],
      ['/nowhere', 404],
      ['/users?filter=x', 400],
    ] as const) {
      const response = await request({ method: 'GET', url, headers: { ...headers, origin } });
      t.equal(response.statusCode, status, url);
      t.match(corsHeaders(response), {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': 'x-request-id, retry-after, idempotency-replayed',
      });
      t.ok(varies(response), `${url}: a cached response is not used for another origin`);
    }
  }
});

t.test('pages of other origins cannot read responses', async (t) => {
  for (const origin of strangers) {
    const requests = [
      { method: 'GET', url: '/server/info' },
      { method: 'GET', url: '/nowhere' },
      { method: 'POST', url: '/auth/login', payload: administrator },
    ] as const;
    for (const options of requests) {
      const response = await request({ ...options, headers: { origin } });
      t.equal(response.headers['access-control-allow-origin'], undefined, `${options.url} ${origin}`);
      t.ok(varies(response), `${options.url} ${origin}: the response varies by origin`);
    }
    const preflight = await request({
      method: 'OPTIONS',
      url: '/users/me',
      headers: { origin, 'access-control-request-method': 'PATCH' },
    });
    t.equal(preflight.headers['access-control-allow-origin'], undefined, `preflight ${origin}`);
  }
});

t.test('a preflight from a listed origin allows every method on every path', async (t) => {
  const [origin = ''] = listed;
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'SEARCH']) {
    for (const url of ['/users', '/users/me/sessions', '/auth/login', '/nowhere', '/', '/users/']) {
      const response = await request({
        method: 'OPTIONS',
        url,
        headers: {
          origin,
          'access-control-request-method': method,
          'access-control-request-headers': 'authorization,content-type',
        },
      });
      t.equal(response.statusCode, 204, `${method} ${url}`);
      t.equal(response.body, '');
      t.match(corsHeaders(response), {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET, HEAD, POST, PATCH, DELETE, SEARCH',
        'access-control-allow-headers': 'authorization, content-type, idempotency-key, x-request-id',
        'access-control-max-age': '600',
      });
      t.ok(varies(response));
    }
  }
});

t.test('a preflight does not check credentials, because browsers never send them with it', async (t) => {
  const [origin = ''] = listed;
  const response = await request({
    method: 'OPTIONS',
    url: '/users/me?access_token=of-no-use',
    headers: { origin, 'access-control-request-method': 'PATCH', authorization: 'Bearer of-no-use' },
  });
  t.equal(response.statusCode, 204);
});

t.test('OPTIONS that is not a preflight returns ROUTE_NOT_FOUND on every path', async (t) => {
  for (const ask of [request, off.request]) {
    for (const headers of [{}, { origin: listed[0] ?? '' }, { 'access-control-request-method': 'PATCH' }]) {
      for (const url of ['/users', '/nowhere', '/']) {
        refused(t, await ask({ method: 'OPTIONS', url, headers }), 'ROUTE_NOT_FOUND', `${url} ${Object.keys(headers)}`);
      }
    }
  }
});

t.test('if CORS is disabled, no CORS headers are sent, whatever the list contains', async (t) => {
  for (const origin of [...listed, 'https://evil.example']) {
    const plain = await off.request({ method: 'GET', url: '/server/info', headers: { origin } });
    t.equal(plain.statusCode, 200);
    t.strictSame(corsHeaders(plain), {});
    const headers = { origin, 'access-control-request-method': 'PATCH' };
    const preflight = await off.request({ method: 'OPTIONS', url: '/users/me', headers });
    refused(t, preflight, 'ROUTE_NOT_FOUND', origin);
    t.strictSame(corsHeaders(preflight), {});
    const login = { method: 'POST', url: '/auth/login', payload: { ...administrator, mode: 'session' } } as const;
    refused(
      t,
      await off.request({ ...login, headers: { origin } }),
      'FORBIDDEN',
      'such a page cannot log in with a cookie either',
    );
  }
});
