// @suite embedded-only: hardly depends on the engine

import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import t from 'tap';
import { settings } from '../../db/schema.js';
import { startTestApp } from '../helpers/service/app.js';

interface FieldModel {
  fieldsOf(collection: string): { name: string }[];
  isOnlyForAdministrators(action: string, collection: string, field: string): boolean;
}

const { app, get } = await startTestApp(t);
const cookie = { cookie: 'gatehouse_session_token=of-no-use' };
const languages = ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN'];
/** Bytes, compressed, that the browser loads before the user sees the first screen. */
const maxFirstLoad = 120_000;

const urlsIn = (html: string) =>
  [...html.matchAll(/(?:src|href)="(\/account\/assets\/[^"]*)"/g)].map(([, url = '']) => url);
/** The parts that a script loads, with those that they load in turn. @param isStatic only those that it cannot run without */
async function partsOf(script: string, isStatic: boolean, known = new Set<string>()): Promise<Set<string>> {
  const { body, statusCode } = await get(script);
  if (statusCode !== 200) throw new Error(`${script}: ${statusCode}`);
  const found = isStatic
    ? body.matchAll(/(?:from|import)\s*"\.\/(part-[\w-]+\.js)"/g)
    : body.matchAll(/"\.\/(part-[\w-]+\.js)"/g);
  for (const [, name = ''] of found) {
    const url = `/account/assets/${name}`;
    if (known.has(url)) continue;
    known.add(url);
    await partsOf(url, isStatic, known);
  }
  return known;
}

t.test('every screen is the same page, in every language, with security headers', async (t) => {
  for (const tag of languages) {
    for (const path of [
      '/console',
      '/console/',
      '/console/users',
      '/console/users/4f2c/sessions',
      '/console/nothing',
    ]) {
      const { statusCode, headers, body } = await get(`${path}?lang=${tag}`, cookie);
      t.equal(statusCode, 200, path);
      t.match(headers, {
        'content-type': 'text/html; charset=utf-8',
        'content-language': tag,
        'cache-control': 'no-store',
        'content-security-policy': "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
      });
      t.match(body, `<html lang="${tag}">`);
      t.notMatch(body, /\s(style|on[a-z]+)=/, 'no inline style or handler');
    }
  }
});

t.test('visitors without a session sign in first, and return to the same screen with its query', async (t) => {
  const target = '/console/users?q=ada&filter=%7B%22status%22%3A%7B%22_eq%22%3A%22active%22%7D%7D';
  const { statusCode, headers } = await get(target);
  t.equal(statusCode, 302);
  t.equal(headers['cache-control'], 'no-store');
  const { pathname, searchParams } = new URL(String(headers.location), 'http://localhost');
  t.equal(pathname, '/account/login');
  t.equal(searchParams.get('redirect'), target);
});

t.test(`the first load transfers at most ${maxFirstLoad / 1000} kB`, async (t) => {
  await app.db.update(settings).set({ projectColor: '#7a1fa2' });
  for (const lang of languages) {
    const { body } = await get(`/console?lang=${lang}`, cookie);
    const urls = urlsIn(body);
    const script = urls.find((url) => url.includes('.js')) ?? '';
    const loaded = [...urls, ...(await partsOf(script, true))];
    const texts = [body, ...(await Promise.all(loaded.map(async (url) => (await get(url)).body)))];
    const size = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
    t.ok(size <= maxFirstLoad, `${lang}: ${size} bytes`);
  }
});

t.test('the parts of the script can be cached forever, because their names change with their content', async (t) => {
  const { body } = await get('/console', cookie);
  const script = urlsIn(body).find((url) => url.includes('.js')) ?? '';
  const parts = [...(await partsOf(script, false))];
  t.ok(parts.length > 1, 'there are parts');
  for (const url of parts) {
    const { headers } = await get(url);
    t.equal(headers['cache-control'], 'public, max-age=31536000, immutable', url);
    t.equal(headers['content-type'], 'text/javascript; charset=utf-8');
  }
});

t.test('the console knows which fields only administrators can write', async (t) => {
  const { outputFiles } = await build({
    entryPoints: ['pages/console/model/fields.ts'],
    bundle: true,
    format: 'esm',
    write: false,
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? '').toString('base64');
  const model: FieldModel = await import(`data:text/javascript;base64,${code}`);
  for (const [collection, { adminOnly }] of Object.entries(app.writeRules)) {
    const names = model.fieldsOf(collection).map(({ name }) => name);
    t.ok(names.length > 0, collection);
    t.strictSame(
      names.filter((name) => model.isOnlyForAdministrators('update', collection, name)),
      names.filter((name) => adminOnly.has(name)),
      collection,
    );
  }
});
