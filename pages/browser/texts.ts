import { ApiFailure } from './api-failure.js';
import { page } from './page-data.js';

/** A text of the page in its language, with its `{placeholders}` filled in. */
export function text(key: string, values: Record<string, string> = {}): string {
  return (page.texts[key] ?? '').replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/**
 * What to say about a failure. A form has texts of its own where the same code means something else to the person: an
 * expired token is an old link here, and the end of the session there.
 */
export function failureText(scope: string, failure: unknown): string {
  const code = failure instanceof ApiFailure ? failure.code : 'unknown';
  // The user has just decided so.
  if (code === 'CANCELED') return '';
  const wait = waitText(failure instanceof ApiFailure ? failure.retryAfter : undefined);
  const key = [`error_${scope}_${code}`, `error_${code}`].find((name) => name in page.texts) ?? 'error_unknown';
  return text(key, { wait });
}

/** `in 30 seconds`, `in 2 minutes`. */
function waitText(seconds = 60): string {
  const format = new Intl.RelativeTimeFormat(page.language, { numeric: 'always' });
  return seconds < 90
    ? format.format(Math.max(1, seconds), 'second')
    : format.format(Math.ceil(seconds / 60), 'minute');
}
