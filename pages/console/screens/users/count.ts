import { useRef } from 'preact/hooks';
import type { Query } from '../../api/client.js';
import { type Loaded, useApi } from '../../api/use-api.js';
import { pageSize } from '../../app/use-page.js';

/** Up to this number of users in all, every count is exact, and every list can be sorted by any column. */
const maxUsers = 10_000;

/** If there are more users, the matches of a filter are counted up to this number, by reading their IDs. The API usually allows that. */
const maxMatches = 500;

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
 * Counts what a query selects, without reading a large table: asks whether there are many users and for the first matches of a filter, and
 * counts all matches only if there are few users. It begins once the list is there, which therefore appears sooner, and may contain all
 * items.
 */
export function useCount(query: { filter: string; search: string }, { sort, isLoading, known }: List): Count {
  const wanted = JSON.stringify(query);
  // Turning a page does not change the number.
  const listed = useRef<string>();
  if (!isLoading) listed.current = wanted;
  const isUnknown = known === undefined && listed.current === wanted;
  const useUsers = (isNeeded: boolean, asked: Query) =>
    useApi(isNeeded ? '/users' : undefined, { query: { fields: 'id', limit: 1, ...asked } });

  const beyond = lengthOf(useUsers(isUnknown, { sort: 'id', offset: maxUsers }));
  // To find as many matches of a search, the database may have to compare the texts of a hundred thousand users.
  const readsMatches = isUnknown && query.filter !== '' && query.search === '';
  const matches = useUsers(readsMatches, { ...query, sort, limit: maxMatches + 1 });
  const matching = readsMatches ? lengthOf(matches) : undefined;
  const isWaiting = !isUnknown || (readsMatches && matching === undefined && !matches.failure);
  const areFew = matching !== undefined && matching <= maxMatches;
  const counted = useUsers(!isWaiting && !areFew && beyond === 0, { ...query, meta: 'filter_count' });

  if (known !== undefined) return known;
  if (isWaiting) return undefined;
  if (areFew) return matching;
  if (beyond === undefined) return undefined;
  if (beyond === 0) return counted.isLoading ? undefined : counted.data?.meta?.filter_count;
  if (query.filter === '' && query.search === '') return { moreThan: maxUsers };
  // A service can be configured to return fewer items than are requested here.
  return { moreThan: matching === undefined ? pageSize : maxMatches };
}

/** Undefined: not known. While a response is loading, and after a failure, there may still be that of the previous query. */
const lengthOf = ({ data, isLoading, failure }: Loaded<{ data?: unknown[] }>): number | undefined =>
  isLoading || failure || !data ? undefined : (data.data ?? []).length;
