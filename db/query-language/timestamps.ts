/** An ISO 8601 date, with or without a time and a zone. */
const isoPattern = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const zonePattern = /(?:Z|[+-]\d{2}:?\d{2})$/;

/**
 * The moment that a text names, in ISO form and UTC; undefined when it names none that the database knows: it has no
 * year 0. Without a zone it is UTC, wherever the service runs.
 */
export function readMoment(text: string): string | undefined {
  if (!isoPattern.test(text)) return undefined;
  const isComplete = text.length === 10 || zonePattern.test(text.slice(10));
  const moment = new Date(isComplete ? text : `${text}Z`);
  if (Number.isNaN(moment.getTime()) || !isDay(text.slice(0, 10))) return undefined;
  return isStorable(moment) ? moment.toISOString() : undefined;
}

/** Whether a moment is in the years that an ISO text and the database both know: 1 to 9999. */
export function isStorable(moment: Date): boolean {
  const year = moment.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** `Date` makes the second of March of the thirtieth of February. */
const isDay = (text: string): boolean => {
  const midnight = new Date(text);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
};
