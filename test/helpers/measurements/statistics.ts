export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] ?? Number.NaN) + (sorted[Math.ceil(half)] ?? Number.NaN)) / 2;
}

const variance = (values: readonly number[]): number => {
  const average = mean(values);
  return values.reduce((sum, value) => sum + (value - average) ** 2, 0) / (values.length - 1);
};

export const standardDeviation = (values: readonly number[]): number => Math.sqrt(variance(values));

/** The 95% confidence interval of the mean, for enough values that the normal distribution applies. */
export function interval(values: readonly number[]): { low: number; high: number } {
  const margin = (1.96 * standardDeviation(values)) / Math.sqrt(values.length);
  return { low: mean(values) - margin, high: mean(values) + margin };
}
