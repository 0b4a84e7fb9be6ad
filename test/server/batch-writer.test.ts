import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createTogether } from '../../plugins/platform/batch-writer.js';

/** Long enough that nothing else takes so long, on a slow machine too. */
const pause = 400;

function createRecorded(write = async (_entries: ReadonlyMap<string, number>): Promise<string[]> => []) {
  const written: Record<string, number>[] = [];
  const failures: unknown[] = [];
  const together = createTogether<number>({
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

t.test('one that comes alone is written at once, many that come together are written once', async (t) => {
  const { add, stop, written } = createRecorded();
  const start = performance.now();
  add('a', 1);
  t.strictSame(written, [], 'whoever adds does not wait');
  await until(t, () => written.length === 1);
  t.ok(performance.now() - start < pause, 'at once');
  for (let count = 0; count < 1000; count++) add(`b${count % 10}`, 1);
  t.equal(written.length, 1, 'not yet');
  await until(t, () => written.length === 2);
  t.ok(performance.now() - start > pause / 2, 'only after a pause');
  t.strictSame(written[1], Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`b${index}`, 100])), 'merged');
  await sleep(2 * pause);
  t.equal(written.length, 2, 'and nothing twice');
  await stop();
});

t.test('one writing at a time: what comes meanwhile waits', async (t) => {
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

t.test('what could not be written is tried again, with what has come meanwhile', async (t) => {
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

t.test('a failure is told of, and the next ones are written', async (t) => {
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

t.test('at the end all that waits is written, without a pause', async (t) => {
  const { add, stop, written } = createRecorded(async (entries) => [...entries.keys()]);
  add('a', 1);
  await until(t, () => written.length === 1);
  add('b', 1);
  const start = performance.now();
  await stop();
  t.ok(performance.now() - start < pause);
  t.strictSame(written, [{ a: 1 }, { a: 1, b: 1 }], 'and not tried for ever');
});
