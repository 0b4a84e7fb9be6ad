import { useApi } from '../../api/use-api.js';
import type { Collection } from '../../model/fields.js';
import { nameOf } from '../person.js';
import { idsIn } from './conditions.js';
import type { Rule } from './rule.js';

/** Maximum number of items whose names are read at once. */
const maxNames = 100;

interface Named {
  id?: string;
  name?: string | null;
  first_name?: string | null;
  last_name?: string | null;
  email?: string | null;
}

export type NameOfId = (id: string) => string;

/**
 * The names of the users, roles, and policies that the conditions of rules refer to. Without a name: the beginning of the ID.
 * @param can whether the caller may read a collection
 */
export function useNames(rules: readonly Rule[], can: (action: 'read', collection: Collection) => boolean): NameOfId {
  const found = rules.flatMap(({ collection, permissions, validation, presets }) => [
    ...idsIn(collection, permissions),
    ...idsIn(collection, validation),
    ...(typeof presets?.role === 'string' ? [{ target: 'roles' as const, id: presets.role }] : []),
  ]);
  const queryFor = (collection: Collection, fields: string) => {
    const ids = found.filter(({ target }) => target === collection).map(({ id }) => id);
    const distinct = [...new Set(ids)].sort().slice(0, maxNames);
    return {
      isNeeded: distinct.length > 0 && can('read', collection),
      query: { filter: { id: { _in: distinct } }, fields, limit: maxNames },
    };
  };
  const roles = queryFor('roles', 'id,name');
  const policies = queryFor('policies', 'id,name');
  const users = queryFor('users', 'id,first_name,last_name,email');
  const loaded = [
    useApi(roles.isNeeded ? '/roles' : undefined, { query: roles.query }).data,
    useApi(policies.isNeeded ? '/policies' : undefined, { query: policies.query }).data,
    useApi(users.isNeeded ? '/users' : undefined, { query: users.query }).data,
  ];
  const items = loaded.flatMap((response) => (response?.data ?? []) as Named[]);
  const names = new Map(items.map((item) => [item.id, item.name ?? nameOf(item)]));
  return (id) => names.get(id) || `${id.slice(0, 8)}…`;
}
