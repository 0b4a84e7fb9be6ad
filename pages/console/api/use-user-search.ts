import { useAccess } from '../app/access.js';
import type { User } from './types.js';
import { type Loaded, useApi } from './use-api.js';
import { searchingUsers, startsWith } from './user-search.js';

/** How many of the users who are found can be put in order. To order all of them, the database would have to read all of them. */
const maxOrdered = 100;

/**
 * Searches the server for users. Those whose names or addresses start with what was typed come first.
 * @param search undefined: nothing is read
 */
export function useUserSearch(
  search: string | undefined,
  limit: number,
): Pick<Loaded<readonly User[]>, 'data' | 'failure' | 'isLoading'> {
  const { canUse } = useAccess();
  const { data, failure, isLoading } = useApi(search === undefined ? undefined : '/users', {
    query: {
      ...searchingUsers(search ?? '', canUse),
      fields: 'id,first_name,last_name,email',
      limit: Math.max(limit, maxOrdered),
    },
  });
  const found = (search === undefined ? [] : (data?.data ?? [])) as User[];
  const isFirst = (user: User) => startsWith(user, search ?? '');
  const ordered = [...found.filter(isFirst), ...found.filter((user) => !isFirst(user))];
  return { data: ordered.slice(0, limit), failure, isLoading };
}
