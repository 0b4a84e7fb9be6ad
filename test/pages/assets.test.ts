// @suite embedded-only: hardly depends on the engine

import { gzipSync } from 'node:zlib';
import t from 'tap';
import { settings } from '../../db/schema.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { codeOf, startTestApp } from '../helpers/service/app.js';
import { pagePaths } from '../helpers/service/pages.js';

/** A provider for each logo that the pages contain. */
const keys = ['google', 'microsoft', 'apple', 'github', 'gitlab', 'discord', 'facebook', 'okta', 'auth0', 'keycloak'];
const provider = await startOauth2Server(t, { publicUrl: 'http://localhost:8055', keys });
const { app, get } = await startTestApp(
  t,
  Object.assign({ AUTH_PROVIDERS: keys.join(',') }, ...keys.map((key) => provider.variables(key))),
);
const cookie = { cookie: 'gatehouse_session_token=of-no-use' };
const { visitor, signedIn } = pagePaths(app);
/** Bytes. The other applications may transfer 40 kB. */
const limits: Record<string, number> = { account: 90_000 };

const urlsIn = (html: string) =>
  [...html.matchAll(/(?:src|href)="(\/account\/assets\/[^"]*)"/g)].map(([, url = '']) => url);

t.test(
  'every page transfers less than 40 kB, the account page less than 90 kB, and their assets can be cached',
  async (t) => {
    // Everything that the pages can offer.
    const all = { publicRegistration: true, emailLogin: true, selfDeletion: true };
    await app.db.update(settings).set({ ...all, projectColor: '#7a1fa2' });
    for (const lang of ['en-US', 'de-DE', 'fr-FR', 'es-ES', 'zh-CN']) {
      for (const page of [...visitor, ...signedIn]) {
        const { body, statusCode } = await get(`${page}?lang=${lang}`, cookie);
        t.equal(statusCode, 200);
        const urls = urlsIn(body);
        t.equal(urls.length, 3, `${page}: two style sheets and a script`);
        const [, application = ''] = /\/assets\/([\w-]+)\.css\?/.exec(urls[0] ?? '') ?? [];
        t.match(urls[2], `/assets/${application}.js?`, page);
        const assets = await Promise.all(urls.map((url) => get(url)));
        for (const asset of assets) {
          t.equal(asset.statusCode, 200);
          t.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable');
          t.equal(asset.headers['x-content-type-options'], 'nosniff');
        }
        const size = [body, ...assets.map((asset) => asset.body)].reduce((sum, text) => sum + gzipSync(text).length, 0);
        t.ok(size < (limits[application] ?? 40_000), `${page} ${lang}: ${size} bytes`);
        // Everything comes from this service.
        t.notMatch(body, /(?:src|href)="(?!\/account|\/auth\/login\/|\?lang=|#|data:)/, page);
      }
    }
    await app.db
      .update(settings)
      .set({ publicRegistration: false, emailLogin: false, selfDeletion: false, projectColor: null });
  },
);

t.test('an asset has the right content type, and is not sent again if it has not changed', async (t) => {
  const [style = '', script = ''] = urlsIn((await get('/account/login')).body);
  t.equal((await get(style)).headers['content-type'], 'text/css; charset=utf-8');
  const { headers } = await get(script);
  t.equal(headers['content-type'], 'text/javascript; charset=utf-8');
  for (const known of [String(headers.etag), `W/${headers.etag}`, `"other", ${headers.etag}`]) {
    const again = await get(script, { 'if-none-match': known });
    t.equal(again.statusCode, 304, known);
    t.equal(again.body, '');
    t.equal(again.headers.etag, headers.etag);
  }
  t.equal((await get(script, { 'if-none-match': '"other"' })).statusCode, 200);
});

t.test('an asset requested without its current version must be revalidated', async (t) => {
  for (const url of ['/account/assets/sign-in.js', '/account/assets/sign-in.js?v=other']) {
    const { statusCode, headers } = await get(url);
    t.equal(statusCode, 200);
    t.equal(headers['cache-control'], 'public, no-cache');
  }
});

t.test('unknown assets return ROUTE_NOT_FOUND', async (t) => {
  for (const name of [
    'nothing.js',
    '..%2f..%2fpackage.json',
    'theme-.css',
    'theme-zzzzzz.css',
    'reference.js',
    'constructor',
    '',
  ]) {
    const response = await get(`/account/assets/${name}`);
    t.equal(response.statusCode, 404, name);
    t.equal(codeOf(response), 'ROUTE_NOT_FOUND', name);
  }
});
