// @suite embedded-only: reads the sources

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { declaredIn, testsOf } from '../../scripts/suites.js';

t.test('a test file declares what is special about it in its first lines', async (t) => {
  const imports = "import t from 'tap';\n";
  t.strictSame([...declaredIn(imports, 'a.test.ts')], []);
  t.strictSame(
    [...declaredIn(`// @suite own-process: measures time\n// @suite not-everyday: waits\n\n${imports}`, 'a.test.ts')],
    ['own-process', 'not-everyday'],
  );
});

t.test('an invalid declaration is rejected', async (t) => {
  for (const [source, message] of [
    ['// @suite sometimes: waits', 'expected "// @suite", and one of embedded-only, postgres-only, '],
    ['//@suite own-process: waits', 'expected "// @suite", and one of '],
    ['/** @suite own-process: waits */', 'expected "// @suite", and one of '],
    ['// @suite', 'expected "// @suite", and one of '],
    ['// @suite own-process', 'expected a reason after "own-process:"'],
    ['// @suite own-process: ', 'expected a reason after "own-process:"'],
    ["import t from 'tap';\n// @suite own-process: waits", 'move this line to the top of the file'],
    ['// @suite own-process: waits\n\n// @suite not-everyday: waits', 'move this line to the top of the file'],
  ] as const) {
    t.throws(() => declaredIn(source, 'a.test.ts'), { message: `a.test.ts: ${message}` }, source);
  }
});

t.test('every test file is part of a suite', async (t) => {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:test|browser)\.ts$/.test(name))
    .map((name) => join('test', name));
  const suites = ['embedded', 'postgres', 'process', 'browser', 'long'] as const;
  const runs = suites.flatMap((suite) =>
    (['embedded', 'postgres'] as const).map((engine) => testsOf({ suite, engine, isEveryday: false })),
  );
  t.strictSame(
    files.filter((file) => !runs.flat().includes(file)),
    [],
  );
});
