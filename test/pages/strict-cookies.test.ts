import t from 'tap';
import { startTestApp } from '../helpers/service/app.js';

/** Browsers withhold strict cookies from a request that another site has caused, such as the return from a provider. */

const asPage = (site: string) => ({ accept: 'text/html', 'sec-fetch-site': site });

for (const [name, mode] of [
  ['SESSION_COOKIE_SAME_SITE', 'session'],
  ['REFRESH_TOKEN_COOKIE_SAME_SITE', 'cookie'],
] as const) {
  t.test(`with ${name}=strict, the page itself finds out whether the user is signed in`, async (t) => {
    const { get } = await startTestApp(t, { [name]: 'strict' });
    for (const path of ['/account', '/account/security', '/account/login']) {
      const page = await get(path, asPage('cross-site'));
      t.equal(page.statusCode, 200, path);
      t.match(page.body, `"sessionModes":["${mode}"]`);
    }
    for (const site of ['same-origin', 'same-site', 'none']) {
      t.equal((await get('/account', asPage(site))).statusCode, 302, `no cookie, ${site}: nothing was withheld`);
      t.match((await get('/account/login', asPage(site))).body, '"sessionModes":[]');
    }
  });
}

t.test('other cookies are never withheld', async (t) => {
  const { get } = await startTestApp(t);
  t.equal((await get('/account', asPage('cross-site'))).statusCode, 302);
  t.match((await get('/account/login', asPage('cross-site'))).body, '"sessionModes":[]');
});
