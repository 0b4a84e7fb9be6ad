import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { advisoriesIn, titledTests, titleText } from '../helpers/advisories.js';
import { mutations } from '../mutations/index.js';

/** Holds together: advisories in the titles of tests, `docs/advisories.md`, and the faults of `npm run test:mutations`. */

const titled = titledTests();
const document = readFileSync('docs/advisories.md', 'utf8');
const [held = '', impossible = ''] = document.split('## What cannot happen here');

/** What the document says of each advisory that is held by tests. */
const rows = held
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

t.test('every advisory in the document is in the titles of the tests that it names', async (t) => {
  t.ok(rows.length > 60, `${rows.length} lines`);
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
        `${id}: the document names every test that has it`,
      );
    }
  }
});

t.test('every advisory in a title is in the document, once', async (t) => {
  const documented = rows.flatMap(({ ids }) => ids);
  t.equal(new Set(documented).size, documented.length, 'in one line');
  for (const { ids, file } of titled) for (const id of ids) t.ok(documented.includes(id), `${file}: ${id}`);
  const others = advisoriesIn(impossible);
  t.ok(others.length > 0);
  t.strictSame(
    others.filter((id) => documented.includes(id)),
    [],
    'and what cannot happen is held by no test',
  );
});

t.test('for each of these tests there is a fault that it must see', async (t) => {
  for (const { file, ids } of titled) {
    for (const id of ids) {
      t.ok(
        mutations.some((mutation) => mutation.ids.includes(id) && mutation.tests.includes(file)),
        `${file}: ${id}`,
      );
    }
  }
});

t.test('every fault can be put in, and is seen by tests of its name', async (t) => {
  for (const { ids, fault, edits, tests } of mutations) {
    t.ok(edits.length > 0 && tests.length > 0, fault);
    for (const { file, find, replace } of edits) {
      t.equal(readFileSync(file, 'utf8').split(find).length, 2, `${fault}: stands once in ${file}: ${find}`);
      t.not(find, replace, fault);
    }
    for (const file of tests) t.ok(existsSync(file), file);
    for (const id of ids) {
      t.ok(
        titled.some((one) => tests.includes(one.file) && one.ids.includes(id)),
        `${fault}: ${id} is in a title of ${tests}`,
      );
    }
  }
});
