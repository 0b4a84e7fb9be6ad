import t from 'tap';
import { admin, startTestApp } from '../helpers/app.js';
import { setCookies } from '../helpers/cookies.js';

/** Logs in at a service with these variables, and gives the body and the one cookie of either mode. */
async function loginWith(t: Parameters<typeof startTestApp>[0], variables: Record<string, string>) {
  const { post } = await startTestApp(t, variables);
  const login = async (mode: string) => {
    const response = await post('/auth/login', { ...admin, mode });
    t.equal(response.statusCode, 200);
    const [[name, cookie] = [], ...more] = Object.entries(setCookies(response));
    t.strictSame(more, []);
    return { name, attributes: cookie?.attributes, expires: response.json().data.expires };
  };
  return { cookie: await login('cookie'), session: await login('session') };
}

t.test('an https PUBLIC_URL makes the cookies Secure; everything else is as configured', async (t) => {
  const { cookie, session } = await loginWith(t, {
    PUBLIC_URL: 'https://auth.example.com/',
    REFRESH_TOKEN_COOKIE_NAME: 'my-refresh',
    REFRESH_TOKEN_COOKIE_DOMAIN: 'example.com',
    REFRESH_TOKEN_COOKIE_SAME_SITE: 'none',
    SESSION_COOKIE_NAME: '__Host-session',
    SESSION_COOKIE_SAME_SITE: 'strict',
    ACCESS_TOKEN_TTL: '5m',
    REFRESH_TOKEN_TTL: '30d',
    SESSION_COOKIE_TTL: '2h',
  });
  t.strictSame(cookie, {
    name: 'my-refresh',
    attributes: ['Domain=example.com', 'HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=None', 'Secure'],
    expires: 300_000,
  });
  t.strictSame(session, {
    name: '__Host-session',
    attributes: ['HttpOnly', 'Max-Age=7200', 'Path=/', 'SameSite=Strict', 'Secure'],
    expires: 7_200_000,
  });
});

t.test('SECURE says otherwise than PUBLIC_URL, for each cookie on its own', async (t) => {
  const { cookie, session } = await loginWith(t, {
    PUBLIC_URL: 'https://auth.example.com',
    REFRESH_TOKEN_COOKIE_SECURE: 'false',
    SESSION_COOKIE_DOMAIN: 'auth.example.com',
    SESSION_COOKIE_SAME_SITE: 'none',
  });
  t.strictSame(cookie.attributes, ['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Lax']);
  t.strictSame(session.attributes, [
    'Domain=auth.example.com',
    'HttpOnly',
    'Max-Age=86400',
    'Path=/',
    'SameSite=None',
    'Secure',
  ]);
});

t.test('SECURE with an http PUBLIC_URL, as behind a proxy', async (t) => {
  const { cookie, session } = await loginWith(t, {
    PUBLIC_URL: 'http://localhost:8055',
    REFRESH_TOKEN_COOKIE_SECURE: 'true',
    REFRESH_TOKEN_COOKIE_SAME_SITE: 'strict',
    SESSION_COOKIE_SECURE: 'false',
  });
  t.strictSame(cookie.attributes, ['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Strict', 'Secure']);
  t.strictSame(session.attributes, ['HttpOnly', 'Max-Age=86400', 'Path=/', 'SameSite=Lax']);
});
