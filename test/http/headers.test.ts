// @suite embedded-only: hardly depends on the engine

import t from 'tap';
import { startTestApp } from '../helpers/service/app.js';
import { logIn } from '../helpers/users/sessions.js';

const service = await startTestApp(t);
const { app, request, get, post } = service;
const { headers: bearer } = await logIn(service, 'json');

/** Headers of every response. */
const everywhere = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'x-permitted-cross-domain-policies': 'none',
};
const closed = "default-src 'none';frame-ancestors 'none'";

t.test('API responses, including errors, have the security headers', async (t) => {
  const answers = {
    'a login': await post('/auth/login', { email: 'admin@example.com', password: 'the password of the administrator' }),
    'a rejected login': await post('/auth/login', { email: 'a@example.com', password: 'x' }),
    'a logout': await post('/auth/logout', { refresh_token: 'x' }),
    'a rejected refresh': await post('/auth/refresh', { refresh_token: 'x' }),
    users: await get('/users', bearer),
    me: await get('/users/me', bearer),
    'own sessions': await get('/users/me/sessions', bearer),
    settings: await get('/settings', bearer),
    'public information': await get('/server/info'),
    providers: await get('/auth'),
    'no such route': await get('/nowhere'),
    'no such method': await request({ method: 'PUT', url: '/users' }),
    'malformed JSON': await request({
      method: 'POST',
      url: '/auth/login',
      headers: { 'content-type': 'application/json' },
      payload: '{',
    }),
    'an invalid token': await get('/server/info', { authorization: 'Bearer x' }),
  };
  for (const [what, { headers }] of Object.entries(answers)) {
    t.match(headers, { ...everywhere, 'content-security-policy': closed, 'cache-control': 'no-store' }, what);
    t.equal(headers['strict-transport-security'], undefined, `${what}: no HSTS over plain http`);
    t.equal(headers['x-powered-by'], undefined, what);
  }
  const { headers } = await get('/%zz');
  t.match(headers, { 'content-security-policy': closed, 'cache-control': 'no-store' }, 'a malformed URL');
});

t.test('pages have a policy that allows only what they need', async (t) => {
  const { cookieName, cookie: opened } = app.mailbox.access;
  const cookie = `${cookieName}=${opened}`;
  const unsafe = /unsafe-inline|unsafe-eval|(?<!img-src[^;]*) https?:|\*/;
  for (const [url, cache] of [
    ['/account/login', 'no-store'],
    ['/mailbox', 'no-store'],
    ['/docs/', 'no-store'],
  ] as const) {
    const { statusCode, headers } = await get(url, { accept: 'text/html', cookie });
    t.equal(statusCode, 200, url);
    t.match(headers, { ...everywhere, 'cross-origin-opener-policy': 'same-origin' }, url);
    t.equal(headers['cache-control'], cache, url);
    const policy = String(headers['content-security-policy']);
    t.match(policy, /frame-ancestors 'none'/, url);
    t.match(policy, /base-uri '(none|self)'/, url);
    // Scalar sets styles on its elements.
    t.notMatch(url === '/docs/' ? policy.replace("style-src-attr 'unsafe-inline'", '') : policy, unsafe, url);
  }
});

t.test('login by provider may run in a window opened by another page', async (t) => {
  const providers = await startTestApp(t, {
    AUTH_PROVIDERS: 'github',
    AUTH_GITHUB_CLIENT_ID: 'x',
    AUTH_GITHUB_CLIENT_SECRET: 'x',
  });
  for (const url of ['/auth/login/github', '/auth/oauth/github']) {
    for (const path of [url, `${url}/callback`]) {
      const { headers } = await providers.get(path);
      t.equal(headers['cross-origin-opener-policy'], undefined, path);
      t.match(headers, everywhere, path);
    }
  }
});

t.test('responses over https have the HSTS header', async (t) => {
  const { get } = await startTestApp(t, { PUBLIC_URL: 'https://accounts.example.com' });
  for (const url of ['/server/info', '/account/login', '/docs/', '/nowhere']) {
    t.equal((await get(url)).headers['strict-transport-security'], 'max-age=31536000', url);
  }
});
