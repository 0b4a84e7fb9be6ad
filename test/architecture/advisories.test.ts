// @suite embedded-only: reads the sources

import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { advisoriesIn, titledTests, titleText } from '../helpers/project/advisories.js';
import { openSources } from '../helpers/project/code-search.js';
import { mutations } from '../mutations/index.js';

/** Checks that the advisories in test titles, in `docs/advisories.md`, and in the faults of `test/mutations` match. */

const titled = titledTests();
const sources = openSources();
const document = readFileSync('docs/advisories.md', 'utf8');
const [covered = '', impossible = ''] = document.split('## What cannot happen here');

/** The rows of the document for advisories that tests cover. */
const rows = covered
  .split('\n')
  .filter((line) => line.startsWith('|') && advisoriesIn(line).length > 0)
  .map((line) => {
    const [, first = '', , third = ''] = line.split(/(?<!\\)\|/);
    const tests = [...third.matchAll(/`([\w./-]+\.test\.ts)`((?:[, ]*“[^”]+”)+)/g)].flatMap(([, file, titles = '']) =>
      [...titles.matchAll(/“([^”]+)”/g)].map(([, title]) => `test/${file} “${title}”`),
    );
    return { line, ids: advisoriesIn(first), tests };
  });

const nameOf = (test: (typeof titled)[number]) => `${test.file} “${titleText(test)}”`;

t.test('every advisory in the document is in the titles of the tests that the document names', async (t) => {
  t.ok(rows.length > 60, `${rows.length} rows`);
  for (const { ids, tests, line } of rows) {
    t.ok(ids.length > 0 && tests.length > 0, line);
    for (const test of tests) {
      const found = titled.find((one) => nameOf(one) === test);
      t.ok(
        found?.ids.some((id) => ids.includes(id)),
        `${test}: ${ids}`,
      );
    }
    for (const id of ids) {
      const expected = titled.filter((one) => one.ids.includes(id)).map(nameOf);
      t.ok(expected.length > 0, `${id} is in a title`);
      t.strictSame(
        expected.filter((name) => !tests.includes(name)),
        [],
        `${id}: the document names every test that has it in its title`,
      );
    }
  }
});

t.test('every advisory in a title is in the document, once', async (t) => {
  const documented = rows.flatMap(({ ids }) => ids);
  t.equal(new Set(documented).size, documented.length, 'each in one row');
  for (const { ids, file } of titled) for (const id of ids) t.ok(documented.includes(id), `${file}: ${id}`);
  const others = advisoriesIn(impossible);
  t.ok(others.length > 0);
  t.strictSame(
    others.filter((id) => documented.includes(id)),
    [],
    'no test covers an advisory that cannot happen here',
  );
});

t.test('every test with an advisory has a fault that it must detect', async (t) => {
  for (const { file, ids } of titled) {
    for (const id of ids) {
      t.ok(
        mutations.some((mutation) => mutation.ids.includes(id) && mutation.tests.includes(file)),
        `${file}: ${id}`,
      );
    }
  }
});

t.test('every fault can be inserted, and names tests that have its advisories in a title', async (t) => {
  for (const { ids, fault, edits, tests } of mutations) {
    t.ok(edits.length > 0 && tests.length > 0, fault);
    for (const { replace, ...code } of edits) {
      try {
        sources.locate(code);
      } catch (error) {
        t.fail(`The fault “${fault}” in test/mutations cannot be inserted. ${(error as Error).message}`);
      }
      t.not(code.find, replace, fault);
    }
    for (const file of tests) t.ok(existsSync(file), file);
    for (const id of ids) {
      t.ok(
        titled.some((one) => tests.includes(one.file) && one.ids.includes(id)),
        `${fault}: ${id} is in a title in ${tests}`,
      );
    }
  }
});
