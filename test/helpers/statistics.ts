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

/** Welch's t-test: whether the means of two samples, whose variances may differ, are alike. */
export function welch(a: readonly number[], b: readonly number[]) {
  const [errorA, errorB] = [variance(a) / a.length, variance(b) / b.length];
  const difference = mean(a) - mean(b);
  const standardError = Math.sqrt(errorA + errorB);
  return {
    difference,
    standardError,
    t: difference / standardError,
    // Welch and Satterthwaite's approximation.
    degreesOfFreedom: (errorA + errorB) ** 2 / (errorA ** 2 / (a.length - 1) + errorB ** 2 / (b.length - 1)),
  };
}
