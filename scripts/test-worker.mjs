// Runs test files one after the other in one process. tap starts a process for each file that it is given, which would take longer than
// most test files do: the embedded engine alone would be compiled in each.
import { closeSync, openSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import t from 'tap';
import { endProcess } from '../dist/test/helpers/runner/process-end.js';
import { endFile, expectSeveralFiles } from '../dist/test/helpers/runner/teardown.js';

/**
 * Runs those of the files that no other process has begun.
 * @param queue the folder in which the processes mark the files that they begin and finish
 * @param total the number of files in the whole run
 */
export async function runTestFiles(files, { queue, total }) {
  expectSeveralFiles();
  for (const file of files) {
    if (!mark(queue, file, 'begun')) continue;
    const start = performance.now();
    const startOfCpu = process.cpuUsage();
    process.env.TEST_FILE = file;
    try {
      await import(pathToFileURL(file).href);
    } catch (error) {
      t.fail(`the file cannot be loaded: ${error?.message ?? error}`, { error: inspect(error), at: null, stack: '' });
    }
    const name = relative('dist/test', file);
    // Runs after all the tests that the file has queued.
    await t.test(`${name} ends cleanly`, async (t) => {
      await endFile();
      t.pass('nothing is left running');
    });
    mark(queue, file, 'finished');
    const finished = readdirSync(queue).filter((mark) => mark.endsWith('.finished')).length;
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    // On a busy machine, the time says little about the cost of a file.
    const { user, system } = process.cpuUsage(startOfCpu);
    console.error(`[${finished}/${total}] ${name} (${seconds} s, CPU ${((user + system) / 1e6).toFixed(1)} s)`);
  }
  await t.test('the process ends cleanly', async (t) => {
    await endProcess();
    t.pass('nothing is left running');
  });
  // A file that failed may have left something running all the same.
  setTimeout(() => process.exit(), 10_000).unref();
}

/** @returns whether no process has set this mark before */
function mark(queue, file, state) {
  try {
    closeSync(openSync(join(queue, `${file.replaceAll(/\W/g, '-')}.${state}`), 'wx'));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}
