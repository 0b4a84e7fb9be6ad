import { eq } from 'drizzle-orm';
import t from 'tap';
import { emailCodes, settings } from '../../db/schema.js';
import { pagePath, returnUrl } from '../../plugins/platform/urls.js';
import { linkIn, mailsTo } from '../helpers/mail/mails.js';
import { publicUrl, redirectCorpus } from '../helpers/providers/redirect-corpus.js';
import { startTestApp } from '../helpers/service/app.js';
import { createUser } from '../helpers/users/users.js';

/** Apps on the same site: the browser returns to them after the login, if their origin is allowed (capabilities 9). */

const origins = ['https://app.example.com', 'http://localhost:3000', 'capacitor://localhost'];
const service = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  ACCOUNT_RETURN_ORIGINS: origins.join(),
  AUTH_PROVIDERS: 'work',
  AUTH_WORK_DRIVER: 'oauth2',
  AUTH_WORK_CLIENT_ID: 'gatehouse',
  AUTH_WORK_CLIENT_SECRET: 'secret',
  AUTH_WORK_AUTHORIZE_URL: 'https://provider.example/authorize',
  AUTH_WORK_ACCESS_URL: 'https://provider.example/token',
  AUTH_WORK_PROFILE_URL: 'https://provider.example/me',
});
const { app, get, post } = service;

const dataOf = (html: string) =>
  JSON.parse(/<script type="application\/json" id="page-data">(.*?)<\/script>/s.exec(html)?.[1] ?? '{}');
const open = async (parameters: Record<string, string>) =>
  (await get(`/account/login?${new URLSearchParams(parameters)}`)).body;

t.test('the page leads back to an allowed URL, and names its host', async (t) => {
  const allowed = {
    'https://app.example.com': 'https://app.example.com/',
    'https://app.example.com/orders?id=7&x=%3C#top': 'https://app.example.com/orders?id=7&x=%3C#top',
    'HTTPS://APP.example.com:443/a/../b': 'https://app.example.com/b',
    'http://localhost:3000/': 'http://localhost:3000/',
    'capacitor://localhost/home?tab=1': 'capacitor://localhost/home?tab=1',
  };
  for (const [url, to] of Object.entries(allowed)) {
    const html = await open({ return_to: url });
    t.match(dataOf(html), { redirect: to, returnTo: to }, url);
    t.ok(html.includes(`Sign in to continue to ${new URL(to).host}.`), url);
    const back = `/account/login?${new URLSearchParams({ return_to: to })}`;
    const atProvider = `/auth/login/work?${new URLSearchParams({ redirect: back })}`.replaceAll('&', '&amp;');
    t.ok(html.includes(`href="${atProvider}"`), `${url}: by way of a provider`);
    t.ok(html.includes(new URLSearchParams({ return_to: to }).toString()), `${url}: in another language`);
  }
  const both = dataOf(await open({ return_to: 'https://app.example.com/a', redirect: '/account/sessions' }));
  t.equal(both.redirect, 'https://app.example.com/a');
});

t.test('any other URL is ignored, and `redirect` accepts none', async (t) => {
  t.ok(redirectCorpus.length > 200);
  const more = [
    'https://app.example.com.evil.example/',
    'https://app.example.com@evil.example/',
    'https://ada@app.example.com/',
    'https://app.example.com:8443/',
    'http://app.example.com/',
    'https://app.example.com\\@evil.example/',
    ' https://app.example.com/',
    'https://app.example.com/\n',
    'capacitor://evil.example/',
    'capacitor://ada@localhost/',
    'capacitor:localhost',
    'javascript://localhost/%0aalert(1)',
    'null',
    `https://app.example.com/${'x'.repeat(1000)}`,
  ];
  const corpus = [...redirectCorpus.map(({ url }) => url), ...more];
  /** As a browser reads them: an absolute URL whose origin is in the list, and a path of the account pages or the console. */
  const isSafeUrl = (url: string | undefined) =>
    url === undefined || origins.some((origin) => url.startsWith(`${origin}/`) && new URL(url).href === url);
  const isSafePath = (path: string | undefined) =>
    path === undefined ||
    (/^\/(?:account|console)(?:[/?#]|$)/.test(path) && new URL(path, publicUrl).origin === publicUrl);
  const unsafe = corpus.filter((url) => !isSafeUrl(returnUrl(origins, url)) || !isSafePath(pagePath('', url)));
  t.strictSame(unsafe, []);
  t.strictSame(
    more.filter((url) => returnUrl(origins, url) !== undefined),
    [],
  );
  t.ok(corpus.filter((url) => returnUrl(origins, url) === undefined).length > 200);
  t.equal(returnUrl([], 'https://app.example.com/'), undefined, 'without the setting');

  for (const url of [...more, '//evil.example/', '/\\evil.example', 'javascript:alert(1)', 'https://evil.example/']) {
    const what = encodeURIComponent(url).slice(0, 60);
    t.equal(dataOf(await open({ return_to: url })).redirect, '/account', what);
    t.equal(dataOf(await open({ redirect: url })).redirect, '/account', `redirect=${what}`);
  }
  const twice = await get('/account/login?return_to=https://app.example.com/&return_to=x');
  t.equal(dataOf(twice.body).redirect, '/account', 'given twice');
});

t.test('the link in an email leads to the app as well', async (t) => {
  await app.db.update(settings).set({ emailLogin: true });
  const binding = 'x'.repeat(40);
  const request = async (body: object) => {
    const user = await createUser(app);
    t.equal((await post('/auth/email/request', { email: user.email, binding, ...body })).statusCode, 204);
    const [mail] = await mailsTo(app, user.email);
    if (!mail) throw new Error(`There is no email to ${user.email}.`);
    return { ...user, mail, url: linkIn(mail) };
  };
  const targetOf = async ({ url }: { url: URL }) =>
    dataOf((await get(`${url.pathname}${url.search}`)).body).link.redirect;
  const target = async (body: object) => targetOf(await request(body));
  const app7 = 'https://app.example.com/orders?id=7';
  t.equal(await target({ return_to: app7 }), app7);
  t.equal(await target({ return_to: app7, redirect: '/account/sessions' }), app7);
  t.equal(await target({ return_to: 'https://evil.example/' }), undefined);
  t.equal(
    await target({ return_to: `https://app.example.com/${'x'.repeat(300)}` }),
    undefined,
    'too long to be stored',
  );
  t.equal(await target({ redirect: '/account/sessions', return_to: '//evil.example' }), '/account/sessions');

  const earlier = await request({ return_to: app7 });
  t.notMatch(earlier.mail.text + earlier.mail.html, /orders/, 'nothing that a caller sends is in the email');
  await app.db
    .update(emailCodes)
    .set({ redirect: 'https://former.example.com/' })
    .where(eq(emailCodes.user, earlier.id));
  t.equal(await targetOf(earlier), undefined, 'the origin is no longer in the list');
});
