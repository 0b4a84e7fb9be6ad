// @suite embedded-only: hardly depends on the engine

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { createThreadPool } from '../../plugins/platform/thread-pool.js';
import { atEndOf } from '../helpers/runner/teardown.js';

/** Tasks are names, and most threads return them. */
function createPool(t: Test, count: number) {
  const folder = t.testdir({
    'program.mjs': `import { threadId, workerData } from 'node:worker_threads';
      import { performTasks } from ${JSON.stringify(new URL('../../plugins/platform/thread-pool.js', import.meta.url).href)};
      performTasks((task) => {
        if (task === 'fail') throw new Error('failed');
        if (task === 'exit') process.exit();
        if (task === 'thread') return threadId;
        if (task === 'given') return workerData;
        if (task === 'secrets') return [{ ...process.env }, process.execArgv];
        if (task === 'hang') for (;;);
        return task;
      });`,
  });
  const program = pathToFileURL(join(folder, 'program.mjs'));
  const pool = createThreadPool<string, unknown>(program, { count, resourceLimits: {}, workerData: 'given' });
  atEndOf(t, () => pool.close());
  return pool;
}

t.test('a failed task is reported, and does not affect the tasks before and after it', async (t) => {
  const { run } = createPool(t, 1);
  const results = await Promise.allSettled([run('one'), run('fail'), run('two')]);
  t.match(results, [{ value: 'one' }, { status: 'rejected', reason: /failed/ }, { value: 'two' }]);
});

t.test('each thread has one task before any thread has two', async (t) => {
  const { run } = createPool(t, 3);
  const first = await run('thread');
  t.equal(await run('thread'), first, 'an idle thread gets the next task');
  const ids = await Promise.all(Array.from({ length: 6 }, () => run('thread')));
  t.strictSame(new Set(ids).size, 3);
});

t.test('a thread gets its data, but not the environment, which contains secrets', async (t) => {
  const { run } = createPool(t, 1);
  t.equal(await run('given'), 'given');
  t.strictSame(await run('secrets'), [{}, []]);
});

t.test('tasks of a thread that exits fail, and the next task gets a new thread', async (t) => {
  const { run } = createPool(t, 1);
  t.equal(await run('one'), 'one');
  const ended = await Promise.allSettled([run('exit'), run('two')]);
  t.match(ended, [{ reason: /has ended/ }, { reason: /has ended/ }]);
  t.equal(await run('three'), 'three');
});

t.test('tasks fail if their thread cannot start', async (t) => {
  const pool = createThreadPool(new URL('./missing.js', import.meta.url), { count: 1, resourceLimits: {} });
  for (let count = 0; count < 2; count++) await t.rejects(pool.run('one'), /missing/);
});

t.test('closing aborts running tasks', async (t) => {
  const { run, close } = createPool(t, 2);
  const settled = Promise.allSettled(Array.from({ length: 4 }, () => run('hang')));
  await close();
  for (const { status } of await settled) t.equal(status, 'rejected');
  await t.rejects(run('one'), /has ended/, 'and no task is accepted afterwards');
});
