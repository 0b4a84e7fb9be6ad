import t from 'tap';
import { setCookies } from '../helpers/http/cookies.js';
import { providerVariables } from '../helpers/providers/openid-provider.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

const provider = providerVariables('alpha', {
  DRIVER: 'oauth2',
  CLIENT_ID: 'x',
  CLIENT_SECRET: 'a secret',
  AUTHORIZE_URL: 'http://127.0.0.1:9/authorize',
  ACCESS_URL: 'http://127.0.0.1:9/token',
  PROFILE_URL: 'http://127.0.0.1:9/user',
});

/** Logs in to a service with these variables, and returns the body and the cookie of both cookie modes. */
async function loginWith(t: Parameters<typeof startTestApp>[0], variables: Record<string, string>) {
  const { post } = await startTestApp(t, variables);
  const login = async (mode: string) => {
    const response = await post('/auth/login', { ...administrator, mode });
    t.equal(response.statusCode, 200);
    const [[name, cookie] = [], ...more] = Object.entries(setCookies(response));
    t.strictSame(more, []);
    return { name, attributes: cookie?.attributes, expires: response.json().data.expires };
  };
  return { cookie: await login('cookie'), session: await login('session') };
}

t.test('an https PUBLIC_URL adds Secure to the cookies, and all other attributes are as configured', async (t) => {
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

t.test('the SECURE variable of each cookie overrides PUBLIC_URL', async (t) => {
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

t.test('the SECURE variables also apply with an http PUBLIC_URL, as behind a proxy', async (t) => {
  const { cookie, session } = await loginWith(t, {
    PUBLIC_URL: 'http://localhost:8055',
    REFRESH_TOKEN_COOKIE_SECURE: 'true',
    REFRESH_TOKEN_COOKIE_SAME_SITE: 'strict',
    SESSION_COOKIE_SECURE: 'false',
  });
  t.strictSame(cookie.attributes, ['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Strict', 'Secure']);
  t.strictSame(session.attributes, ['HttpOnly', 'Max-Age=86400', 'Path=/', 'SameSite=Lax']);
});

t.test('cookies are sent to another host only if a domain is configured (CVE-2024-28197)', async (t) => {
  const PUBLIC_URL = 'https://auth.example.com/accounts';
  const { post, get } = await startTestApp(t, { PUBLIC_URL, AUTH_PROVIDERS: 'alpha', ...provider });
  const answers = [await get('/auth/login/alpha'), await get('/auth/oauth/alpha')];
  for (const [mode, name] of [
    ['cookie', '__Host-gatehouse_refresh_token'],
    ['session', '__Host-gatehouse_session_token'],
  ] as const) {
    const login = await post('/auth/login', { ...administrator, mode });
    const cookie = `${name}=${setCookies(login)[name]?.value}`;
    answers.push(
      login,
      await post('/auth/refresh', { mode }, { cookie }),
      await post('/auth/logout', { mode }, { cookie }),
    );
  }
  for (const answer of answers) {
    const cookies = Object.entries(setCookies(answer));
    t.ok(cookies.length > 0);
    for (const [name, { attributes }] of cookies) {
      t.notOk(
        attributes.some((attribute) => attribute.startsWith('Domain=')),
        name,
      );
      t.ok(attributes.includes('HttpOnly'), name);
    }
  }
});
