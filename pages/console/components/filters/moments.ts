import { dayText, timeText, tn } from '../../texts.js';
import { readAge } from './forms.js';

/** A time in a filter: `30 days ago`, a day, or a day with a time. */
export function momentText(value: string): string {
  const age = readAge(value);
  if (age) return tn(`filter_age_${age.unit}`, age.count);
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return value;
  return time.getHours() === 0 && time.getMinutes() === 0 ? dayText(value) : timeText(value);
}
