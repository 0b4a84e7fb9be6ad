// @suite embedded-only: hardly depends on the engine

import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createBatchWriter } from '../../plugins/platform/batch-writer.js';

/** Longer than any other step takes, even on a slow machine. */
const pause = 400;

function createRecorded(write = async (_entries: ReadonlyMap<string, number>): Promise<string[]> => []) {
  const written: Record<string, number>[] = [];
  const failures: unknown[] = [];
  const together = createBatchWriter<number>({
    write: async (entries) => {
      written.push(Object.fromEntries(entries));
      return write(entries);
    },
    merge: (waiting, added) => waiting + added,
    pause,
    onFailure: (error) => failures.push(error),
  });
  return { ...together, written, failures };
}

const until = async (t: Test, isReached: () => boolean) => {
  for (let tries = 0; tries < 500 && !isReached(); tries++) await sleep(10);
  t.ok(isReached());
};

t.test('a single entry is written immediately, and many simultaneous ones are written together', async (t) => {
  const { add, stop, written } = createRecorded();
  const start = performance.now();
  add('a', 1);
  t.strictSame(written, [], 'adding does not wait');
  await until(t, () => written.length === 1);
  t.ok(performance.now() - start < pause, 'written immediately');
  for (let count = 0; count < 1000; count++) add(`b${count % 10}`, 1);
  t.equal(written.length, 1, 'not written yet');
  await until(t, () => written.length === 2);
  t.ok(performance.now() - start > pause / 2, 'only after a pause');
  t.strictSame(written[1], Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`b${index}`, 100])), 'merged');
  await sleep(2 * pause);
  t.equal(written.length, 2, 'no entry is written twice');
  await stop();
});

t.test('entries added during a write wait for it to finish', async (t) => {
  let finish = () => {};
  const { add, stop, written } = createRecorded(
    () =>
      new Promise((resolve) => {
        finish = () => resolve([]);
      }),
  );
  add('a', 1);
  await until(t, () => written.length === 1);
  add('b', 1);
  await sleep(2 * pause);
  t.equal(written.length, 1);
  finish();
  await until(t, () => written.length === 2);
  finish();
  await stop();
  t.strictSame(written, [{ a: 1 }, { b: 1 }]);
});

t.test('entries that could not be written are retried, together with new ones', async (t) => {
  const left = [['a'], []];
  const { add, stop, written } = createRecorded(async () => left.shift() ?? []);
  add('a', 1);
  add('b', 1);
  await until(t, () => written.length === 1);
  add('a', 5);
  await until(t, () => written.length === 2);
  await stop();
  t.strictSame(written, [{ a: 1, b: 1 }, { a: 6 }]);
});

t.test('a failure is reported, and later entries are written', async (t) => {
  let isBroken = true;
  const { add, stop, written, failures } = createRecorded(async () => {
    if (isBroken) throw new Error('broken');
    return [];
  });
  add('a', 1);
  await until(t, () => failures.length === 1);
  isBroken = false;
  add('b', 1);
  await until(t, () => written.length === 2);
  t.match(failures, [{ message: 'broken' }]);
  await stop();
  t.strictSame(written, [{ a: 1 }, { b: 1 }]);
});

t.test('stopping writes all waiting entries, without a pause', async (t) => {
  const { add, stop, written } = createRecorded(async (entries) => [...entries.keys()]);
  add('a', 1);
  await until(t, () => written.length === 1);
  add('b', 1);
  const start = performance.now();
  await stop();
  t.ok(performance.now() - start < pause);
  t.strictSame(written, [{ a: 1 }, { a: 1, b: 1 }], 'stopping does not retry forever');
});
