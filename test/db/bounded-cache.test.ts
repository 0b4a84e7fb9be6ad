import t from 'tap';
import { createBoundedCache } from '../../db/bounded-cache.js';

t.test('a full cache drops the name that has not been used for the longest time', async (t) => {
  const cached = createBoundedCache<string>(2);
  const made: string[] = [];
  const use = (name: string) =>
    cached(name, () => {
      made.push(name);
      return `the value of ${name}`;
    });
  t.equal(use('a'), 'the value of a');
  use('b');
  use('a');
  use('c');
  t.strictSame(made, ['a', 'b', 'c']);
  t.equal(use('a'), 'the value of a');
  t.strictSame(made, ['a', 'b', 'c'], 'a name in use stays');
  use('b');
  t.strictSame(made, ['a', 'b', 'c', 'b'], 'the other one was dropped');
});

t.test('names that a caller made up do not keep out a new one', async (t) => {
  const cached = createBoundedCache<number>(100);
  let made = 0;
  const use = (name: string) => cached(name, () => ++made);
  for (let number = 0; number < 10_000; number++) use(`made up ${number}`);
  const first = use('in use');
  t.equal(use('in use'), first);
});
