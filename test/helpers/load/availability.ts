import type { RecordedRequest } from './asking.js';
import { isRetryable } from './asking.js';

const second = 1_000;
const step = 50;

/** The share of the requests sent in a time span that were answered, or undefined if none were sent. */
function share(notes: readonly RecordedRequest[], from: number, to: number): number | undefined {
  const asked = notes.filter((note) => note.asked >= from && note.asked < to);
  return asked.length === 0 ? undefined : asked.filter(({ status }) => !isRetryable(status)).length / asked.length;
}

/**
 * The time from `moment` until 99% of the requests are answered again, both in the following second and in all of the
 * remaining time.
 * @returns milliseconds; Infinity if that never happens
 */
export function recoveryAfter(notes: readonly RecordedRequest[], moment: number): number {
  const end = notes.at(-1)?.answered ?? moment;
  for (let from = moment; from + second <= end; from += step) {
    if ((share(notes, from, from + second) ?? 0) >= 0.99 && (share(notes, from, end) ?? 0) >= 0.99)
      return from - moment;
  }
  return Number.POSITIVE_INFINITY;
}

/** The longest wait for a response, in milliseconds. */
export const maxWait = (notes: readonly RecordedRequest[]): number =>
  Math.max(...notes.map(({ asked, answered }) => answered - asked));

/** How often each status was returned. */
export function statusesOf(notes: readonly RecordedRequest[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of notes) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
