import { useRef } from 'preact/hooks';
import type { Query } from '../../api/client.js';
import { useApi } from '../../api/use-api.js';

/** Up to this number of users, the count is exact, and the list can be sorted by any column. */
export const maxCounted = 10_000;

/** How many users match; `more` if there are more than `maxCounted`. Undefined: not known yet. */
export type Count = number | 'more' | undefined;

/**
 * Counts what a query selects, without reading a large table: first asks whether there are more than `maxCounted` items, and counts only
 * if there are not. It begins once the list is there, which therefore appears sooner, and may contain all items.
 * @param list whether the list is still loading, and the number of items, if the page that is shown contains all of them
 */
export function useCount(query: Query, { isLoading, known }: { isLoading: boolean; known: number | undefined }): Count {
  const selection = { ...query, fields: 'id' };
  const wanted = JSON.stringify(query);
  // Turning a page does not change the number.
  const listed = useRef<string>();
  if (!isLoading) listed.current = wanted;
  const isUnknown = known === undefined && listed.current === wanted;
  const probe = useApi(isUnknown ? '/users' : undefined, {
    query: { ...selection, sort: 'id', offset: maxCounted, limit: 1 },
  });
  // While it is loading, the response is still that of the previous query.
  const hasMore = probe.isLoading ? undefined : probe.data && (probe.data.data ?? []).length > 0;
  const counted = useApi(isUnknown && hasMore === false ? '/users' : undefined, {
    query: { ...selection, limit: 1, meta: 'filter_count' },
  });
  if (known !== undefined) return known;
  if (!isUnknown) return undefined;
  if (hasMore) return 'more';
  return hasMore === false && !counted.isLoading ? counted.data?.meta?.filter_count : undefined;
}
