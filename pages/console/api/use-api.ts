import useSWR, { mutate } from 'swr';
import type { ApiFailure } from '../../kit/api-failure.js';
import { useAccess } from '../app/access.js';
import type { Collection } from '../model/fields.js';
import { type Query, read, urlOf } from './client.js';
import { readableQuery } from './readable-query.js';
import type { PathWith, ResultOf } from './types.js';

export interface Loaded<T> {
  /** The last response. While a new one is loading after a change of the query, it is that of the previous query. */
  data: T | undefined;
  failure: ApiFailure | undefined;
  isLoading: boolean;
  /** Reads again. @returns the new response, or the last one if this fails */
  reload(): Promise<T | undefined>;
}

interface Options {
  params?: Readonly<Record<string, string>>;
  query?: Query;
  /** Milliseconds between automatic requests. Default: none. */
  refreshMs?: number;
}

/** Reads from the API what the caller may read, and again when the user returns to the tab. @param path undefined: nothing is read */
export function useApi<P extends PathWith<'get'>>(
  path: P | undefined,
  options: Options = {},
): Loaded<ResultOf<P, 'get'>> {
  const access = useAccess();
  const query = path === undefined ? {} : readableQuery(access, path, options.query ?? {});
  const key = path === undefined ? null : urlOf(path, { ...options, query });
  const { data, error, isLoading, mutate } = useSWR<ResultOf<P, 'get'>, ApiFailure>(key, read, {
    keepPreviousData: true,
    refreshInterval: options.refreshMs ?? 0,
    // The client repeats a request that the service had no time for. Other failures are reported, with a button to try again.
    shouldRetryOnError: false,
  });
  return { data, failure: error, isLoading, reload: () => mutate() };
}

/** Reads everything about a collection again that is on the screen, after a change. */
export const changed = (...collections: (Collection | 'sessions' | 'statistics')[]): Promise<unknown> =>
  mutate(
    (key) =>
      typeof key === 'string' && collections.some((name) => new RegExp(`^/(?:${name}\\b|.*/${name}\\b)`).test(key)),
  );
