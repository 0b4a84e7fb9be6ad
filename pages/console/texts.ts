import { ApiFailure } from '../kit/api-failure.js';
import type shared from '../kit/texts/en-US.json';
import { failureText, text } from '../kit/texts.js';
import { page } from './page-data.js';
import type own from './texts/en-US.json';

/** The keys of the texts of the console and of the kit. */
export type TextKey = keyof typeof own | keyof typeof shared;

/** The keys of the texts with one form for each plural category, without the category: `users_selected` for `users_selected_one`. */
type Counted<K> = K extends `${infer Base}_other` ? Base : never;
export type CountedKey = Counted<TextKey>;

type Values = Readonly<Record<string, string | number>>;

const asTexts = (values: Values) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

/** A text in the language of the page, with its `{placeholders}` filled in. */
export const t = (key: TextKey, values: Values = {}): string => text(key, asTexts(values));

const plurals = new Intl.PluralRules(page.language);
const numbers = new Intl.NumberFormat(page.language);

export const numberText = (value: number): string => numbers.format(value);

/** A text about a number of things. Its `{count}` is the number. */
export function tn(key: CountedKey, count: number, values: Values = {}): string {
  const exact = `${key}_${plurals.select(count)}`;
  return text(exact in page.texts ? exact : `${key}_other`, asTexts({ ...values, count: numberText(count) }));
}

/** A text whose key is built at run time, such as the name of a field. Undefined if there is no such text. */
export const textIfAny = (key: string): string | undefined => page.texts[key];

/** The name of a field. Fields without a text, such as those of a newer version of the API, are named after the API. */
export const fieldText = (name: string): string =>
  textIfAny(`field_${name}`) ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

/** The name of a value of a field, such as a status. */
export const choiceText = (value: string): string => textIfAny(`choice_${value}`) ?? value;

/** The name of something that happened, as the audit log stores it. */
export const actionText = (action: string): string =>
  textIfAny(`action_${action}`) ?? action.charAt(0).toUpperCase() + action.slice(1).replaceAll('_', ' ');

/** Why an event of the audit log failed. */
export function reasonText({ reason, code }: { reason?: string | null; code?: string | null }): string {
  const why = reason ?? code ?? '';
  return textIfAny(`user_failure_${why}`) ?? why;
}

/** A reason why the console did not send a request, in the language of the page. */
export class Noticed extends Error {}

/** Why a request failed: the API's own words where it has some, because they name the field or the limit. */
export function failureMessage(failure: unknown): string {
  if (failure instanceof Noticed) return failure.message;
  const known = failureText('console', failure);
  const { detail, code } = failure instanceof ApiFailure ? failure : { detail: undefined, code: '' };
  const isGeneric = !(`error_${code}` in page.texts) && !(`error_console_${code}` in page.texts);
  return isGeneric && detail ? detail : known;
}

const dates = new Intl.DateTimeFormat(page.language, { dateStyle: 'medium', timeStyle: 'short' });
const days = new Intl.DateTimeFormat(page.language, { dateStyle: 'medium' });
const utcDays = new Intl.DateTimeFormat(page.language, { dateStyle: 'medium', timeZone: 'UTC' });
const relative = new Intl.RelativeTimeFormat(page.language, { numeric: 'auto', style: 'short' });

export const timeText = (time: string): string => dates.format(new Date(time));
export const dayText = (time: string | Date): string => days.format(new Date(time));
/** The name of a day in UTC, in which the statistics are counted. It must not become another day in the user's time zone. */
export const utcDayText = (day: string): string => utcDays.format(new Date(day));

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** `3 days ago`, `in 2 hours`. */
export function agoText(time: string, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const);
  return unit === 'second' ? relative.format(0, 'second') : relative.format(Math.trunc(seconds / size), unit);
}
