import { readFileSync } from 'node:fs';
import t from 'tap';
import { settings } from '../../db/schema.js';
import { startTestApp } from '../helpers/service/app.js';
import { pagePaths } from '../helpers/service/pages.js';
import { logIn } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

const service = await startTestApp(t);
const { app, get, post } = service;

const languages = ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN'];
const { visitor: visitorPages, signedIn: signedInPages, signedInElsewhere } = pagePaths(app);
const accountPages = signedInPages.filter((path) => !signedInElsewhere.includes(path));
const pages = [...visitorPages, ...signedInPages];
const cookie = { cookie: 'gatehouse_session_token=of-no-use' };
const cookieFor = (path: string) => (signedInPages.includes(path) ? cookie : {});

const policyWith = (images: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:${images}; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

const change = (values: Partial<typeof settings.$inferInsert>) => app.db.update(settings).set(values);
const dataOf = (html: string) =>
  JSON.parse(/<script type="application\/json" id="page-data">(.*?)<\/script>/s.exec(html)?.[1] ?? '{}');
const titleOf = (html: string) => /<h1[^>]*>([^<]*)</.exec(html)?.[1];

t.test('every page is available in every language, with security headers', async (t) => {
  for (const tag of languages) {
    for (const path of pages) {
      const { statusCode, headers, body } = await get(`${path}?lang=${tag}`, cookieFor(path));
      const what = `${path} ${tag}`;
      t.equal(statusCode, 200, what);
      t.match(
        headers,
        {
          'content-type': 'text/html; charset=utf-8',
          'content-language': tag,
          // The account page shows the logos of applications.
          'content-security-policy': policyWith(accountPages.includes(path) ? ' https:' : ''),
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
          'cache-control': 'no-store',
        },
        what,
      );
      t.match(body, `<html lang="${tag}">`, what);
      t.notMatch(body, /\{\{|\{%|\bundefined\b|\[object /, `${what}: no template syntax is left`);
      t.notMatch(
        body,
        /<script(?! type="(application\/json" id="page-data">|module" src="))/,
        `${what}: no inline script`,
      );
      t.notMatch(body, /\s(style|on[a-z]+)=/, `${what}: no inline style or handler`);
    }
  }
  t.equal(titleOf((await get('/account/login?lang=de-DE')).body), 'Anmelden');
  t.equal(titleOf((await get('/account/login?lang=zh-CN')).body), '登录');
});

t.test('the language comes from the query, the browser, or the project, in this order', async (t) => {
  const languageOf = async (query: string, accept?: string) =>
    (await get(`/account/login${query}`, accept === undefined ? {} : { 'accept-language': accept })).headers[
      'content-language'
    ];
  t.equal(await languageOf('?lang=fr-FR', 'de'), 'fr-FR');
  t.equal(await languageOf('?lang=de'), 'de-DE');
  t.equal(await languageOf('', 'es-MX,es;q=0.9,en;q=0.8'), 'es-ES');
  t.equal(await languageOf('', 'en;q=0.5, de;q=0.9'), 'de-DE');
  t.equal(await languageOf('', 'fr;q=0, zh'), 'zh-CN');
  t.equal(await languageOf('?lang[]=de', ';;q=,,*'), 'en-US');
  await change({ defaultLanguage: 'fr-FR' });
  t.equal(await languageOf('', 'pt'), 'fr-FR');
  await change({ defaultLanguage: 'en-US' });
  t.match((await get('/account/login?lang=de')).body, 'href="/account/forgot-password?lang=de-DE"', 'in links too');
});

t.test('external input is always shown as text', async (t) => {
  const evil = `"'><script>alert(1)</script>{{ t.email }}`;
  await change({ projectName: evil, projectLogo: `https://cdn.example.com/"><script>alert(1)</script>` });
  const query = new URLSearchParams({ lang: evil, token: evil, redirect: `/${evil}`, reason: evil, notice: evil });
  for (const page of pages) {
    const { statusCode, body } = await get(`${page}?${query}`, cookie);
    t.equal(statusCode, 200, page);
    t.notMatch(body, '<script>alert', page);
    t.equal(body.match(/<script/g)?.length, 2, page);
    t.match(
      body,
      '&#34;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{ t.email }}</title>',
      `${page}: the name is escaped`,
    );
    t.notMatch(body.replace(/href="\?[^"]*"/g, ''), 'token', `${page}: the token is not repeated`);
    t.type(dataOf(body).texts, 'object', `${page}: the data is valid`);
  }
  await change({ projectName: 'Gatehouse', projectLogo: null });
});

t.test('the CSP allows images from the host of the logo, and from no other host', async (t) => {
  const images = async (projectLogo: string | null) => {
    await change({ projectLogo });
    const { headers } = await get('/account/login');
    return /img-src ([^;]*)/.exec(String(headers['content-security-policy']))?.[1];
  };
  t.equal(await images('https://cdn.example.com/logo.svg'), "'self' data: https://cdn.example.com");
  t.equal(await images('http://localhost:9000/logo.svg'), "'self' data: http://localhost:9000");
  t.equal(await images('/files/logo.svg'), "'self' data:");
  t.equal(await images('data:image/svg+xml,x'), "'self' data:");
  t.equal(await images('javascript:alert(1)'), "'self' data:");
  t.equal(await images("https://a;script-src'unsafe-inline'/logo.svg"), "'self' data:");
  t.equal(await images('https://*/logo.svg'), "'self' data:");
  await change({ projectLogo: null });
});

t.test('the account page offers what the settings allow', async (t) => {
  const offered = async () => {
    const { body } = await get('/account', cookie);
    const { selfService, selfDeletion } = dataOf(body).offers;
    return { selfService, selfDeletion, button: body.includes('data-delete>') };
  };
  t.strictSame(await offered(), { selfService: true, selfDeletion: false, button: false });
  await change({ selfService: false, selfDeletion: true });
  t.strictSame(await offered(), { selfService: false, selfDeletion: true, button: true });
  await change({ selfService: true, selfDeletion: false });
});

t.test('the login page shows only known notices', async (t) => {
  const noticeOf = async (notice: string) => dataOf((await get(`/account/login?notice=${notice}`)).body).notice;
  t.equal(await noticeOf('signed-out'), 'signed-out');
  t.equal(await noticeOf('deleted'), 'deleted');
  t.equal(await noticeOf('anything'), undefined);
});

t.test('a login redirects only to account pages and the console', async (t) => {
  const targetOf = async (redirect: string) =>
    dataOf((await get(`/account/login?${new URLSearchParams({ redirect })}`)).body).redirect;
  for (const good of ['/account', '/account/', '/account?x=1&y=%3C#z', '/account/register', '/account/login?lang=de']) {
    t.equal(await targetOf(good), good);
  }
  for (const good of [
    '/console',
    '/console/',
    '/console/users?q=a&filter=%7B%7D',
    '/console/users/4f2c-a_1/sessions',
  ]) {
    t.equal(await targetOf(good), good);
  }
  t.equal(await targetOf('/x/../account?y=<'), '/account?y=%3C');
  for (const bad of [
    '',
    '/',
    '/docs',
    '/accountx',
    '/consolex',
    '/console/../auth/logout',
    '/console//evil.example',
    '/console/%2e%2e/auth/logout',
    '/console/a.json',
    '/accounts',
    '/account.json',
    '/Account',
    '/account/../auth/login/alpha',
    '/account/..',
    '/account/%2e%2e/auth/logout',
    '/account/%2E%2E/auth/logout',
    '/account/..%2fauth/logout',
    '/account%2f..%2fauth',
    '/account/%252e%252e/auth',
    '/account/..\\auth',
    '/account\\..\\auth',
    '/account/%5c..%5cauth',
    '/account//evil.example',
    '/account/;x',
    '/%61ccount',
    '/auth/login/alpha?link=true',
    '/auth/login/alpha?redirect=/account',
    '/auth/logout?x=/account',
    'account',
    '//evil.example',
    '//account',
    '//evil.example/account',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n\\evil.example',
    '/.//evil.example',
    '/./\\evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    'https://evil.example',
    'https://evil.example/account',
    'https:evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '?x',
  ]) {
    t.equal(await targetOf(bad), '/account', JSON.stringify(bad));
  }
  const twice = await get('/account/login?redirect=/account/a&redirect=/account/b');
  t.equal(dataOf(twice.body).redirect, '/account', 'given twice');
});

t.test('visitors without a session are sent to sign in, and unusable cookies do not prevent it', async (t) => {
  const visitor = await get('/account?lang=de');
  t.equal(visitor.statusCode, 302);
  t.equal(visitor.headers.location, '/account/login?lang=de-DE');
  t.equal(visitor.headers['cache-control'], 'no-store');
  t.equal((await get('/account')).headers.location, '/account/login');
  t.equal((await get('/account/')).headers.location, '/account/login');
  t.equal((await get('/account', cookie)).statusCode, 200);
  for (const path of visitorPages) {
    for (const value of ['x', 'a.b.c', '%', '"']) {
      const headers = { cookie: `gatehouse_session_token=${value}`, authorization: 'Bearer nonsense' };
      t.equal((await get(`${path}?access_token=x&access_token=y`, headers)).statusCode, 200, `${path} ${value}`);
    }
  }
});

t.test('the account pages accept the cookie of either mode', async (t) => {
  const refreshCookie = 'gatehouse_refresh_token=of-no-use';
  const modesIn = async (headers: Record<string, string>) =>
    dataOf((await get('/account/login', headers)).body).sessionModes;
  t.strictSame(await modesIn({}), []);
  t.strictSame(await modesIn(cookie), ['session']);
  t.strictSame(await modesIn({ cookie: refreshCookie }), ['cookie']);
  t.strictSame(await modesIn({ cookie: `${refreshCookie}; ${cookie.cookie}` }), ['session', 'cookie']);
  for (const path of [
    '/account',
    '/account/profile',
    '/account/security',
    '/account/sessions',
    '/account/connections',
  ]) {
    t.equal((await get(path, { cookie: refreshCookie })).statusCode, 200, path);
    t.equal((await get(path)).statusCode, 302, path);
  }
});

t.test(
  'when another site leads to a page, the page itself looks for the cookies that browsers then hold back',
  async (t) => {
    const strict = await startTestApp(t, { SESSION_COOKIE_SAME_SITE: 'strict' });
    const fromProvider = { 'sec-fetch-site': 'cross-site' };
    const page = await strict.get('/account', fromProvider);
    t.equal(page.statusCode, 200);
    t.strictSame(dataOf(page.body).sessionModes, ['session']);
    t.equal((await strict.get('/account', { 'sec-fetch-site': 'same-origin' })).statusCode, 302);
    t.equal((await get('/account', fromProvider)).statusCode, 302, 'browsers send the other cookies');
  },
);

t.test('signing out on the pages ends the sessions of both cookies', async (t) => {
  const user = await createUser(app);
  const [session, refresh] = [await logIn(service, 'session', user), await logIn(service, 'cookie', user)];
  const both = { cookie: `gatehouse_session_token=${session.token}; gatehouse_refresh_token=${refresh.token}` };
  const signOut = (headers: Record<string, string>) => post('/account/sign-out', undefined, headers);
  t.equal((await signOut({ ...both, origin: 'https://evil.example' })).statusCode, 403);
  t.equal((await get('/users/me', session.headers)).statusCode, 200);
  const done = await signOut(both);
  t.equal(done.statusCode, 204);
  t.strictSame(done.cookies.map(({ name, value }) => [name, value]).sort(), [
    ['gatehouse_refresh_token', ''],
    ['gatehouse_session_token', ''],
  ]);
  for (const { headers } of [session, refresh]) t.equal((await get('/users/me', headers)).statusCode, 401);
  t.equal((await signOut({})).statusCode, 204, 'there is nothing to end');
});

t.test('the pages offer registration only if it is open', async (t) => {
  const closed = await get('/account/register');
  t.equal(titleOf(closed.body), 'Registration is closed');
  t.notMatch(closed.body, '<form');
  t.notMatch((await get('/account/login')).body, '/account/register"');
  await change({ publicRegistration: true });
  t.match((await get('/account/register')).body, '<form id="register"');
  t.match((await get('/account/login')).body, 'href="/account/register"');
  await change({ publicRegistration: false });
});

t.test('the page after a verification explains what went wrong and what to do', async (t) => {
  const texts = JSON.parse(readFileSync('pages/sign-in/texts/en-US.json', 'utf8'));
  const shown = async (query: string) => {
    const { body } = await get(`/account/verified${query}`);
    return `${titleOf(body)}: ${/<p>([^<]*)</.exec(body)?.[1]}`;
  };
  t.equal(await shown(''), `${texts.verified_title}: ${texts.verified}`);
  for (const reason of ['TOKEN_EXPIRED', 'INVALID_TOKEN', 'FORBIDDEN', 'INVALID_PAYLOAD', 'SERVICE_UNAVAILABLE']) {
    // The address is probably confirmed, so the title must not deny it.
    const title = reason === 'INVALID_PAYLOAD' ? texts.link_dead_title : texts.unverified_title;
    t.equal(await shown(`?reason=${reason}`), `${title}: ${texts[`unverified_${reason}`]}`);
  }
  for (const reason of ['INTERNAL_SERVER_ERROR', '__proto__', 'title', '<b>']) {
    t.equal(await shown(`?reason=${reason}`), `${texts.unverified_title}: ${texts.unverified_unknown}`, reason);
  }
});

t.test('the pages are not part of the API', async (t) => {
  const paths = Object.keys((app.swagger() as { paths?: object }).paths ?? {});
  t.strictSame(
    paths.filter((path) => path.startsWith('/account')),
    [],
  );
});
