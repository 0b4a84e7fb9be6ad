// @suite embedded-only: reads the sources

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

/** `docs/conformance-openid.md`: each row names the tests that prove it. */
const document = readFileSync('docs/conformance-openid.md', 'utf8');
const rows = document.split('\n').filter((line) => /^\| (?!-)/.test(line) && line.includes('.test.ts`'));

t.test('every test in the tables exists', async (t) => {
  t.ok(rows.length > 75, `${rows.length} rows`);
  for (const row of rows) {
    const tests = [...row.matchAll(/`([\w./-]+\.test\.ts)`((?:[, ]*“[^”]+”)+)/g)];
    t.ok(tests.length > 0, row);
    t.equal(tests.length, row.match(/\.test\.ts/g)?.length, `each file is followed by titles: ${row}`);
    for (const [, file = '', titles = ''] of tests) {
      const path = join('test', file);
      const source = existsSync(path) ? readFileSync(path, 'utf8') : '';
      for (const [, title = ''] of titles.matchAll(/“([^”]+)”/g)) t.ok(source.includes(title), `${file} “${title}”`);
    }
  }
});

t.test('the table lists every module that a test is named after', async (t) => {
  const source = readFileSync('test/applications/conformance.test.ts', 'utf8');
  const modules = new Set(source.match(/\boidcc-[\w-]+/g));
  t.ok(modules.size > 45, `${modules.size} modules`);
  for (const module of modules) t.ok(document.includes(module), module);
});
