import { median } from '../test/helpers/measurements/statistics.js';

export { mean, median } from '../test/helpers/measurements/statistics.js';

/** The results of several rounds. */
export interface Spread {
  median: number;
  lowest: number;
  highest: number;
}

export const spread = (values: readonly number[]): Spread => ({
  median: median(values),
  lowest: Math.min(...values),
  highest: Math.max(...values),
});

/** The value below which the given share (0 to 1) of all values falls. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
