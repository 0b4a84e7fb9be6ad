const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/**
 * A duration in words, such as "7 days", "24 hours" or "1 hour, 30 minutes". Only the two largest units are used. The rest is
 * dropped, so that the text never promises more time than there is.
 */
export function durationInWords(milliseconds: number, language: string): string {
  // Durations below two days are given in hours.
  const usable = units.filter(([unit, length]) => milliseconds >= (unit === 'day' ? 2 * length : length));
  let rest = milliseconds;
  const parts = usable.slice(0, 2).map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return { unit, count };
  });
  const words = (parts.length > 0 ? parts : [{ unit: 'second', count: 1 }])
    .filter(({ count }) => count > 0)
    .map(({ unit, count }) =>
      new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count),
    );
  return new Intl.ListFormat(language, { type: 'unit' }).format(words);
}
