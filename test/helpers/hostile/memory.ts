import { median } from '../measurements/statistics.js';

export interface MemorySample {
  requests: number;
  megabytes: number;
}

/**
 * How much memory has grown: the difference between the median of an early part of the requests (after a warm-up) and
 * that of the last part.
 */
export function memoryGrowth(samples: readonly MemorySample[], total: number) {
  const between = (from: number, to: number) =>
    median(
      samples
        .filter(({ requests }) => requests >= from * total && requests <= to * total)
        .map(({ megabytes }) => megabytes),
    );
  const [before, after] = [between(0.25, 0.4), between(0.85, 1)];
  return { before, after, growth: after - before, most: Math.max(...samples.map(({ megabytes }) => megabytes)) };
}
