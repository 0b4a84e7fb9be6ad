// Runs test files one after the other in one process; tap starts about as many of these processes as there are cores. A separate
// process for each file would take longer than most files do: the embedded engine alone would be compiled in each.
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import t from 'tap';
import { endProcess } from '../dist/test/helpers/process-end.js';
import { endFile, expectSeveralFiles } from '../dist/test/helpers/teardown.js';

const { TEST_QUEUE: queue, TEST_FILES: files } = process.env;
expectSeveralFiles();

for (const file of files.split('\n')) {
  if (!isMine(file)) continue;
  const start = performance.now();
  const startOfCpu = process.cpuUsage();
  process.env.TEST_FILE = file;
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    t.fail(`the file cannot be loaded: ${error?.message ?? error}`, { error: inspect(error), at: null, stack: '' });
  }
  // Runs after all the tests that the file has queued.
  await t.test(`${relative('dist/test', file)} ends cleanly`, async (t) => {
    await endFile();
    t.pass('nothing is left running');
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  // On a busy machine, the time says little about the cost of a file.
  const { user, system } = process.cpuUsage(startOfCpu);
  const cpu = ((user + system) / 1e6).toFixed(1);
  writeFileSync(join(queue, `${markOf(file)}.done`), `${relative('dist/test', file)} (${seconds} s, CPU ${cpu} s)`);
}
await t.test('the process ends cleanly', async (t) => {
  await endProcess();
  t.pass('nothing is left running');
});
// A file that failed may have left something running all the same.
setTimeout(() => process.exit(), 10_000).unref();

/** The process that creates the marker first runs the file. */
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
