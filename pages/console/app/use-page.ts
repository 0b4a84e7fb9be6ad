import { useHistoryState } from 'wouter-preact/use-browser-location';
import type { Query } from '../api/client.js';
import type { Meta, PathWith } from '../api/types.js';
import { type Loaded, useApi } from '../api/use-api.js';
import { useUrlState } from './url-state.js';

export interface Page<T> extends Omit<Loaded<readonly T[]>, 'reload'> {
  reload: () => void;
  /** The number of the page, starting at 1. */
  number: number;
  next: (() => void) | undefined;
  previous: (() => void) | undefined;
}

/** How many items a page has, unless its screen says otherwise. */
export const pageSize = 50;

/**
 * Reads a list page by page, with cursors: every page takes the same time, however many items there are. The URL contains the cursor, so a
 * page has a link, and the back button leads from an item to the page it was opened from.
 * @param query without `limit`, `cursor`, and `meta`
 */
export function usePage<T>(
  path: PathWith<'get'> | undefined,
  query: Query,
  { limit = pageSize, refreshMs = 0 }: { limit?: number; refreshMs?: number } = {},
): Page<T> {
  const [{ cursor, page }, change] = useUrlState<'cursor' | 'page'>();
  const state = useHistoryState<{ cursors?: readonly string[] } | null>();
  const { data, ...rest } = useApi<'/users'>(path as '/users' | undefined, {
    query: { ...query, limit, meta: 'cursor', cursor },
    refreshMs,
  });
  const { data: rows, meta } = (data ?? {}) as { data?: readonly T[]; meta?: Meta };
  const next = meta?.next_cursor;
  const number = cursor === undefined ? 1 : Math.max(2, Number.parseInt(page ?? '', 10) || 2);
  // The cursors of the pages from the second one to this one. There is no way to get the cursor of an earlier page, so if the user opened a
  // link to this page, only its own cursor is known.
  const known = state?.cursors ?? [];
  const opened = cursor === undefined ? [] : [cursor];
  const cursors = known.at(-1) === cursor ? known : opened;
  const turnTo = (to: number, way: readonly string[]) =>
    change({ cursor: way.at(-1), page: way.length > 0 ? String(to) : undefined }, { state: { cursors: way } });
  return {
    ...rest,
    reload: () => void rest.reload(),
    data: rows,
    number,
    next: typeof next === 'string' && !rest.isLoading ? () => turnTo(number + 1, [...cursors, next]) : undefined,
    previous: number > 1 ? () => turnTo(number - 1, cursors.slice(0, -1)) : undefined,
  };
}
