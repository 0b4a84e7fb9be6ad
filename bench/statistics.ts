export { mean, median } from '../test/helpers/measurements/statistics.js';

/** The value below which the given share (0 to 1) of all values falls. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
