import { median } from './statistics.js';

/** Milliseconds that the work below took on the machine on which the bounds of time in tests were set. */
const usual = 4;

const text = JSON.stringify(
  Array.from({ length: 5_000 }, (_, index) => ({ id: index, email: `somebody${index}@example.com`, tags: ['a', 'b'] })),
);

/** How many times slower than usual this machine is just now; 1 when it is not. A bound of time is to grow with it. */
export function slowness(): number {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now();
    JSON.stringify(JSON.parse(text));
    return performance.now() - start;
  });
  return Math.max(1, median(times) / usual);
}
