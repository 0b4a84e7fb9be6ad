import { nameOf } from '../components/person.js';
import type { User } from './types.js';
import { useApi } from './use-api.js';

/**
 * The names of users, by ID, read with one request. Users that the caller can't read have none.
 * @param ids undefined: nothing is read
 */
export function useNames(ids: readonly (string | null | undefined)[] | undefined): ReadonlyMap<string, string> {
  const wanted = [...new Set(ids?.filter((id) => typeof id === 'string'))].sort();
  const { data } = useApi(wanted.length === 0 ? undefined : '/users', {
    query: {
      filter: { id: { _in: wanted } },
      fields: 'id,first_name,last_name,email',
      limit: wanted.length,
    },
  });
  return new Map(((data?.data ?? []) as User[]).map((user) => [user.id ?? '', nameOf(user, user.id)]));
}
