import { median } from './statistics.js';

/** How long the work below took on the machine on which the tests' time limits were chosen, in milliseconds. */
const referenceMs = 4;

const text = JSON.stringify(
  Array.from({ length: 5_000 }, (_, index) => ({ id: index, email: `somebody${index}@example.com`, tags: ['a', 'b'] })),
);

/**
 * The factor, at least 1, by which this machine is currently slower than usual. Multiply time limits in tests by it.
 */
export function slowness(): number {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now();
    JSON.stringify(JSON.parse(text));
    return performance.now() - start;
  });
  return Math.max(1, median(times) / referenceMs);
}
