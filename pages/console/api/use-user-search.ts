import { useAccess } from '../app/access.js';
import type { User } from './types.js';
import { type Loaded, useApi } from './use-api.js';
import { searchingUsers, startingWith } from './user-search.js';

/**
 * Searches the server for users. Those whose name or address starts with what was typed come first.
 * @param search undefined: nothing is read
 */
export function useUserSearch(
  search: string | undefined,
  limit: number,
): Pick<Loaded<readonly User[]>, 'data' | 'failure' | 'isLoading'> {
  const { canUse } = useAccess();
  const listed = { fields: 'id,first_name,last_name,email', limit };
  const filter = search === undefined ? undefined : startingWith(search, canUse);
  const first = useApi(filter === undefined ? undefined : '/users', { query: { filter, ...listed } });
  const all = useApi(search === undefined ? undefined : '/users', {
    query: { ...searchingUsers(search ?? '', canUse), ...listed },
  });
  // Without a search, a list is still that of the last one.
  const lists = [filter === undefined ? undefined : first.data, search === undefined ? undefined : all.data];
  const found = lists.flatMap((list) => (list?.data ?? []) as User[]);
  const unique = new Map(found.map((user) => [user.id, user]));
  return {
    data: [...unique.values()].slice(0, limit),
    failure: all.failure ?? first.failure,
    isLoading: first.isLoading || all.isLoading,
  };
}
