import t from 'tap';
import { startTestApp } from '../helpers/app.js';

t.test('without passwords there is nothing about passwords', async (t) => {
  const { get } = await startTestApp(t, { AUTH_DISABLE_DEFAULT: 'true' });
  const { statusCode, body } = await get('/account/login');
  t.equal(statusCode, 200);
  t.notMatch(body, 'type="password"');
  t.notMatch(body, '/forgot-password');
});

t.test('behind a path, all that pages link to and load is under that path', async (t) => {
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

t.test('the cookie of the session may have another name', async (t) => {
  const { get } = await startTestApp(t, { SESSION_COOKIE_NAME: 'mine' });
  t.equal((await get('/account', { cookie: 'mine=x' })).statusCode, 200);
  t.equal((await get('/account', { cookie: 'gatehouse_session_token=x' })).statusCode, 302);
});
