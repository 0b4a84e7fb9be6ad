import { median } from '../statistics.js';

export interface MemorySample {
  requests: number;
  megabytes: number;
}

/** How memory grew after the first part of the requests, which is for warming up: from the median of one part to that of the last. */
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
