import { useRef } from 'preact/hooks';
import type { Query } from '../../api/client.js';
import { type Loaded, useApi } from '../../api/use-api.js';
import { pageSize } from '../../app/use-page.js';

/** Up to this number of users in all, every count is exact, and every list can be sorted by any column. */
const maxUsers = 10_000;

/** The same for those that match a filter, if there are more users. To find as many, the database reads many times more. */
const maxMatches = 1_000;

/** How many users match. Undefined: not known yet. */
export type Count = number | { moreThan: number } | undefined;

interface List {
  /** An order in which the database finds users quickly, whatever the order of the list is. */
  sort: string;
  isLoading: boolean;
  /** The number of items, if the page that is shown contains all of them. */
  known: number | undefined;
}

/**
 * Counts what a query selects, without reading a large table: first asks whether there are many users, and whether many of them match, and
 * counts only if not. It begins once the list is there, which therefore appears sooner, and may contain all items.
 */
export function useCount(query: { filter: string; search: string }, { sort, isLoading, known }: List): Count {
  const wanted = JSON.stringify(query);
  // Turning a page does not change the number.
  const listed = useRef<string>();
  if (!isLoading) listed.current = wanted;
  const isUnknown = known === undefined && listed.current === wanted;
  const useUsers = (isNeeded: boolean, asked: Query) =>
    useApi(isNeeded ? '/users' : undefined, { query: { fields: 'id', limit: 1, ...asked } });

  const areMany = hasItems(useUsers(isUnknown, { sort: 'id', offset: maxUsers }));
  // To find the thousandth match of a search, the database may have to compare the texts of a hundred thousand users.
  const asksForMatches = isUnknown && query.filter !== '' && query.search === '';
  const manyMatch = hasItems(useUsers(asksForMatches, { ...query, sort, offset: maxMatches }));
  const isCountable = isUnknown && (areMany === false || manyMatch === false);
  const counted = useUsers(isCountable, { ...query, meta: 'filter_count' });

  if (known !== undefined) return known;
  if (isCountable) return counted.isLoading ? undefined : counted.data?.meta?.filter_count;
  if (!isUnknown || !areMany) return undefined;
  if (query.search !== '') return { moreThan: pageSize };
  if (query.filter === '') return { moreThan: maxUsers };
  return manyMatch ? { moreThan: maxMatches } : undefined;
}

/** Undefined: not known yet. While a response is loading, there may still be that of the previous query. */
const hasItems = ({ data, isLoading }: Loaded<{ data?: unknown[] }>): boolean | undefined =>
  isLoading || !data ? undefined : (data.data ?? []).length > 0;
