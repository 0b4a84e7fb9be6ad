import { useEffect, useState } from 'preact/hooks';
import useSWR, { mutate } from 'swr';
import type { ApiFailure } from '../../kit/api-failure.js';
import type { Collection } from '../model/fields.js';
import { type Query, read, urlOf } from './client.js';
import type { Meta, PathWith, ResultOf } from './types.js';

export interface Loaded<T> {
  /** The last response. While a new one is loading after a change of the query, it is that of the previous query. */
  data: T | undefined;
  failure: ApiFailure | undefined;
  isLoading: boolean;
  /** Reads again. */
  reload(): void;
}

interface Options {
  params?: Readonly<Record<string, string>>;
  query?: Query;
  /** Milliseconds between automatic requests. Default: none. */
  refreshMs?: number;
}

/** Reads from the API, and again when the user returns to the tab. @param path undefined: nothing is read */
export function useApi<P extends PathWith<'get'>>(
  path: P | undefined,
  options: Options = {},
): Loaded<ResultOf<P, 'get'>> {
  const key = path === undefined ? null : urlOf(path, options);
  const { data, error, isLoading, mutate } = useSWR<ResultOf<P, 'get'>, ApiFailure>(key, read, {
    keepPreviousData: true,
    refreshInterval: options.refreshMs ?? 0,
    // The client repeats a request that the service had no time for. Other failures are reported, with a button to try again.
    shouldRetryOnError: false,
  });
  return { data, failure: error, isLoading, reload: () => void mutate() };
}

/** Reads everything about a collection again that is on the screen, after a change. */
export const changed = (...collections: (Collection | 'sessions' | 'statistics')[]): Promise<unknown> =>
  mutate(
    (key) =>
      typeof key === 'string' && collections.some((name) => new RegExp(`^/(?:${name}\\b|.*/${name}\\b)`).test(key)),
  );

export interface Page<T> extends Loaded<readonly T[]> {
  /** The number of the page, starting at 1. */
  number: number;
  next: (() => void) | undefined;
  previous: (() => void) | undefined;
}

/**
 * Reads a list page by page, with cursors: every page takes the same time, however many items there are.
 * @param query without `limit`, `cursor`, and `meta`. A change of the query leads back to the first page.
 */
export function usePage<T>(
  path: PathWith<'get'> | undefined,
  query: Query,
  { limit = 50, refreshMs = 0 }: { limit?: number; refreshMs?: number } = {},
): Page<T> {
  const place = path === undefined ? '' : urlOf(path, { query: { ...query, limit } });
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [shownPlace, setShownPlace] = useState(place);
  const isSame = shownPlace === place;
  useEffect(() => {
    setShownPlace(place);
    setCursors([]);
  }, [place]);
  const current = isSame ? cursors : [];
  const loaded = useApi<'/users'>(path as '/users' | undefined, {
    query: { ...query, limit, meta: 'cursor', cursor: current.at(-1) },
    refreshMs,
  });
  const { data, ...rest } = loaded;
  const { data: rows, meta } = (data ?? {}) as { data?: readonly T[]; meta?: Meta };
  const next = meta?.next_cursor;
  return {
    ...rest,
    data: rows,
    number: current.length + 1,
    next: typeof next === 'string' && !rest.isLoading ? () => setCursors([...current, next]) : undefined,
    previous: current.length > 0 ? () => setCursors(current.slice(0, -1)) : undefined,
  };
}
