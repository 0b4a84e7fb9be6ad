// @suite embedded-only: hardly depends on the engine

import t from 'tap';
import { settings } from '../../db/schema.js';
import { startTestApp } from '../helpers/service/app.js';

t.test('with AUTH_DISABLE_DEFAULT, the login page does not mention passwords', async (t) => {
  const { get } = await startTestApp(t, { AUTH_DISABLE_DEFAULT: 'true' });
  const { statusCode, body } = await get('/account/login');
  t.equal(statusCode, 200);
  t.notMatch(body, 'type="password"');
  t.notMatch(body, '/forgot-password');
});

t.test('with AUTH_DISABLE_DEFAULT, the login page offers sign-in by email if the setting is on', async (t) => {
  const { app, get } = await startTestApp(t, { AUTH_DISABLE_DEFAULT: 'true' });
  t.notMatch((await get('/account/login')).body, 'id="email"');
  await app.db.update(settings).set({ emailLogin: true });
  const { body } = await get('/account/login');
  t.match(body, '<form id="email-only"');
  t.notMatch(body, 'type="password"');
});

t.test('with a path in PUBLIC_URL, all links and assets of the pages are under that path', async (t) => {
  const { get } = await startTestApp(t, { PUBLIC_URL: 'https://example.com/accounts/' });
  for (const page of ['/account/login', '/account/forgot-password', '/account/verified']) {
    const { body } = await get(page);
    const urls = [...body.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, url]) => url);
    t.ok(urls.length > 2);
    for (const url of urls) t.match(url, /^\/accounts\/account\//, `${page} ${url}`);
    t.match(body, '"base":"/accounts"');
  }
  t.equal((await get('/account')).headers.location, '/accounts/account/login');
});

t.test('with a path in PUBLIC_URL, every redirect and the OpenAPI document stay under that path', async (t) => {
  const { get } = await startTestApp(t, { PUBLIC_URL: 'https://example.com/iam/auth' });
  const redirects = {
    '/': '/iam/auth/account',
    '/account': '/iam/auth/account/login',
    '/account/security': '/iam/auth/account/login?redirect=%2Fiam%2Fauth%2Faccount%2Fsecurity',
    '/.well-known/change-password': '/iam/auth/account/security?change=password',
    '/users/register/verify-email?token=x': '/iam/auth/account/verified?reason=INVALID_TOKEN',
  };
  for (const [path, location] of Object.entries(redirects)) {
    const { statusCode, headers } = await get(path, { accept: 'text/html' });
    t.equal(statusCode, 302, path);
    t.equal(headers.location, location, path);
  }
  const { servers } = (await get('/openapi.json')).json();
  t.strictSame(servers, [{ url: '/iam/auth', description: 'This service' }]);
  for (const [, url] of (await get('/docs')).body.matchAll(/(?:src|href|data-document)="(\/[^"]*)"/g))
    t.match(url, /^\/iam\/auth\/(docs\/|openapi\.json$)/);
});

t.test('the pages use the configured name of the session cookie', async (t) => {
  const { get } = await startTestApp(t, { SESSION_COOKIE_NAME: 'mine' });
  t.equal((await get('/account', { cookie: 'mine=x' })).statusCode, 200);
  t.equal((await get('/account', { cookie: 'gatehouse_session_token=x' })).statusCode, 302);
});
