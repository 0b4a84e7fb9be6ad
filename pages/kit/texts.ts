import { ApiFailure } from './api-failure.js';
import { page } from './page-data.js';

/** A text in the language of the page, with its `{placeholders}` filled in. */
export function text(key: string, values: Record<string, string> = {}): string {
  return (page.texts[key] ?? '').replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/**
 * The message for a failure. Forms can have their own texts, because the same code can have different meanings: an expired
 * token can be an old link or an expired session.
 */
export function failureText(scope: string, failure: unknown): string {
  const code = failure instanceof ApiFailure ? failure.code : 'unknown';
  // The user canceled the action, so there is nothing to report.
  if (code === 'CANCELED') return '';
  const wait = waitText(failure instanceof ApiFailure ? failure.retryAfter : undefined);
  const key = [`error_${scope}_${code}`, `error_${code}`].find((name) => name in page.texts) ?? 'error_unknown';
  return text(key, { wait, min: String(page.passwordMinLength) });
}

/** `in 30 seconds`, `in 2 minutes`. */
export function waitText(seconds = 60): string {
  const format = new Intl.RelativeTimeFormat(page.language, { numeric: 'always' });
  return seconds < 90
    ? format.format(Math.max(1, seconds), 'second')
    : format.format(Math.ceil(seconds / 60), 'minute');
}

export const dateText = (date: string): string =>
  new Intl.DateTimeFormat(page.language, { dateStyle: 'medium' }).format(new Date(date));

/** When something was added, as `first` says, and when it was last used. @param used `null`: never */
export const historyText = (first: string, used: string | null): string =>
  [first, used === null ? text('status_never_used') : text('status_used_on', { date: dateText(used) })].join(' · ');
