/**
 * For tests that take a long time. `npm run test:long` runs each in full; the everyday suite runs a short form, so that a change does
 * not have to wait for the rest.
 */
export const isLong = process.env.TEST_LONG === 'true';

/** For tests that have no short form. */
export const skipUnlessLong = !isLong && 'runs in npm run test:long';

/** A number of repetitions. The variable takes precedence. */
export const amountOf = (variable: string, { short, long }: { short: number; long: number }): number =>
  Number(process.env[variable] ?? (isLong ? long : short));

/** All cases in the long form; otherwise every `step`-th one, starting with the first. */
export const sampleOf = <T>(cases: readonly T[], step: number): T[] =>
  cases.filter((_, index) => isLong || index % step === 0);
