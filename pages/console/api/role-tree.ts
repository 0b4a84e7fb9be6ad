import { useApi } from './use-api.js';

export interface ChildRole {
  id: string;
  name?: string;
  parent?: string | null;
}

/** More roles that have a parent are not read. */
export const maxChildRoles = 500;

/** All roles that have a parent. @param isNeeded whether they are read */
export function useChildRoles(isNeeded = true) {
  const { data, failure } = useApi(isNeeded ? '/roles' : undefined, {
    query: { filter: { parent: { _nnull: true } }, fields: 'id,name,parent', limit: maxChildRoles },
  });
  return { children: data?.data as readonly ChildRole[] | undefined, isLoaded: data !== undefined, failure };
}

/** Some roles, and all roles that inherit from them, at any depth. */
export function withDescendants(ids: readonly string[], children: readonly ChildRole[]): string[] {
  const found = new Set(ids);
  // Each round finds the children of the roles so far; a role is found only once.
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { id, parent } of children) if (parent && found.has(parent)) found.add(id);
  }
  return [...found];
}
