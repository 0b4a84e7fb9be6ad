const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** A duration in words, such as "7 days" or "24 Stunden"; in the largest unit that leaves no remainder, but a lone day is 24 hours. */
export function durationIn(language: string, milliseconds: number): string {
  const [unit, size] = units.find(
    ([name, length]) => milliseconds % length === 0 && milliseconds / length >= (name === 'day' ? 2 : 1),
  ) ?? ['second', 1_000];
  const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' });
  return format.format(Math.max(1, Math.round(milliseconds / size)));
}
