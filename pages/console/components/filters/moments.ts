import { type CountedKey, dayText, timeText, tn } from '../../texts.js';
import { type AgeUnit, readAge } from './forms.js';

const ageTexts: Readonly<Record<AgeUnit, CountedKey>> = {
  minutes: 'filter_age_minutes',
  hours: 'filter_age_hours',
  days: 'filter_age_days',
  weeks: 'filter_age_weeks',
  months: 'filter_age_months',
  years: 'filter_age_years',
};

/** A time in a filter: `30 days ago`, a day, or a day with a time. */
export function momentText(value: string): string {
  const age = readAge(value);
  if (age) return tn(ageTexts[age.unit], age.count);
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return value;
  return time.getHours() === 0 && time.getMinutes() === 0 ? dayText(value) : timeText(value);
}
