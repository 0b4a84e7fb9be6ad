import { useApi } from '../../api/use-api.js';
import { type Collection, fieldAt } from '../../model/fields.js';
import type { Condition } from './conditions.js';
import { isFieldCondition } from './conditions.js';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** How many names are read. Filters with more items show the others by their ID. */
const maxNames = 100;

/** The collections whose items filters can name. */
export const namedCollections = ['roles', 'policies'] as const;
type Named = (typeof namedCollections)[number];

export const isNamed = (collection: string | undefined): collection is Named =>
  (namedCollections as readonly (string | undefined)[]).includes(collection);

const idsIn = (collection: Collection, conditions: readonly Condition[], target: Named): string[] => {
  const ids = conditions.filter(isFieldCondition).flatMap(({ path, value }) => {
    const isTarget = fieldAt(collection, path)?.collection === target;
    return isTarget ? [value].flat().filter((id): id is string => typeof id === 'string' && uuid.test(id)) : [];
  });
  return [...new Set(ids)].sort().slice(0, maxNames);
};

/** The names of the roles and policies in a filter, by ID. */
export function useNames(collection: Collection, conditions: readonly Condition[]): ReadonlyMap<string, string> {
  const roles = useNamesOf('/roles', idsIn(collection, conditions, 'roles'));
  const policies = useNamesOf('/policies', idsIn(collection, conditions, 'policies'));
  return new Map([...roles, ...policies]);
}

function useNamesOf(path: '/roles' | '/policies', ids: readonly string[]): [string, string][] {
  const { data } = useApi(ids.length > 0 ? path : undefined, {
    query: { fields: 'id,name', filter: { id: { _in: ids } }, limit: maxNames },
  });
  const found = (data?.data ?? []) as { id: string; name?: string }[];
  return found.flatMap(({ id, name }) => (name === undefined ? [] : [[id, name] as [string, string]]));
}
