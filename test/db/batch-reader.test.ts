import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createBatchReader } from '../../db/batch-reader.js';

/** A reader that returns what is stored when its statement is sent, and records the keys of each statement. */
function createReader(stored: Map<string, number>) {
  const statements: string[][] = [];
  const read = createBatchReader(async (keys) => {
    statements.push([...keys]);
    const found = new Map(keys.flatMap((key) => (stored.has(key) ? [[key, stored.get(key) as number]] : [])));
    await sleep(20);
    return found;
  });
  return { read, statements };
}

t.test('reads that are requested at the same moment share a statement', async (t) => {
  const { read, statements } = createReader(new Map(Object.entries({ a: 1, b: 2 })));
  t.strictSame(await Promise.all(['a', 'b', 'c', 'a'].map(read)), [1, 2, undefined, 1]);
  t.strictSame(statements, [['a', 'b', 'c']]);
});

t.test('a read does not join a statement that has been sent', async (t) => {
  const stored = new Map([['a', 1]]);
  const { read, statements } = createReader(stored);
  const before = read('a');
  await sleep(5);
  stored.set('a', 2);
  const after = read('a');
  t.strictSame([await before, await after], [1, 2]);
  t.strictSame(statements, [['a'], ['a']]);
});

t.test('a statement has a limited number of keys', async (t) => {
  const { read, statements } = createReader(new Map());
  await Promise.all(Array.from({ length: 250 }, (_, index) => read(String(index))));
  t.strictSame(
    statements.map(({ length }) => length),
    [100, 100, 50],
  );
});

t.test('the failure of a statement concerns only its own reads', async (t) => {
  let isBroken = true;
  const read = createBatchReader(async (keys) => {
    if (isBroken) throw new Error('no database');
    return new Map(keys.map((key) => [key, key]));
  });
  for (const outcome of await Promise.allSettled([read('a'), read('b')])) t.equal(outcome.status, 'rejected');
  isBroken = false;
  t.equal(await read('a'), 'a');
});
