/** An ISO 8601 date, with an optional time and time zone. */
const isoPattern = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const zonePattern = /(?:Z|[+-]\d{2}:?\d{2})$/;

/**
 * Converts a text to a timestamp in ISO 8601 form and UTC. Without a time zone, the text is read as UTC, wherever the service
 * runs.
 * @returns undefined for an invalid date or one that the database cannot store, such as the year 0
 */
export function readMoment(text: string): string | undefined {
  if (!isoPattern.test(text)) return undefined;
  const isComplete = text.length === 10 || zonePattern.test(text.slice(10));
  const moment = new Date(isComplete ? text : `${text}Z`);
  if (Number.isNaN(moment.getTime()) || !isDay(text.slice(0, 10))) return undefined;
  return isStorable(moment) ? moment.toISOString() : undefined;
}

/** Whether a timestamp is in the range that both ISO texts and the database support: the years 1 to 9999. */
export function isStorable(moment: Date): boolean {
  const year = moment.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** `Date` turns February 30 into March 2. */
const isDay = (text: string): boolean => {
  const midnight = new Date(text);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
};
