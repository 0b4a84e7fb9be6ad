// Runs one test file after the other in a process of its own kind: tap starts as many as there are cores. To start a process
// for each file would cost more than most files do: the embedded engine alone is compiled anew in each.
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { endProcess } from '../dist/test/helpers/process-end.js';
import { endFile, expectSeveralFiles } from '../dist/test/helpers/teardown.js';

const { TEST_QUEUE: queue, TEST_FILES: files } = process.env;
expectSeveralFiles();

for (const file of files.split('\n')) {
  if (!isMine(file)) continue;
  const start = performance.now();
  process.env.TEST_FILE = file;
  try {
    await import(pathToFileURL(file).href);
    // Comes after all the tests that the file has put in line.
    await t.test(`${relative('dist/test', file)} has come to its end`, async (t) => {
      await endFile();
      t.pass('nothing is left running');
    });
  } catch (error) {
    t.fail(`${file} cannot be run: ${error?.stack ?? error}`);
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  writeFileSync(join(queue, `${markOf(file)}.done`), `${relative('dist/test', file)} (${seconds} s)`);
}
await t.test('the process has come to its end', async (t) => {
  await endProcess();
  t.pass('nothing is left running');
});

/** Whoever makes the mark first has the file. */
function isMine(file) {
  try {
    closeSync(openSync(join(queue, markOf(file)), 'wx'));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function markOf(file) {
  return file.replaceAll(/\W/g, '-');
}
