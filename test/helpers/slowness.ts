import { median } from './statistics.js';

/** Milliseconds that the work below took on the machine on which the time limits of the tests were set. */
const usual = 4;

const text = JSON.stringify(
  Array.from({ length: 5_000 }, (_, index) => ({ id: index, email: `somebody${index}@example.com`, tags: ['a', 'b'] })),
);

/**
 * How many times slower than usual this machine currently is; at least 1. Time limits in tests should scale with it.
 */
export function slowness(): number {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now();
    JSON.stringify(JSON.parse(text));
    return performance.now() - start;
  });
  return Math.max(1, median(times) / usual);
}
