import { type CollectionName, collections } from '../../db/query-language/collections.js';
import { type AccessView, type ReadGrant, ruleOf, seesAll } from '../../db/query-language/filter.js';
import type { Variables } from '../../db/query-language/variables.js';
import type { Caller } from '../http/caller.js';
import { isUnlimited, ownRuleOf, permissionsFor } from './permissions.js';

/** The values of the dynamic variables for this caller. */
export const variablesOf = (caller: Caller, now: Date): Variables => ({
  now,
  user: caller.userId,
  role: caller.role,
  roles: caller.roles,
  policies: caller.policies.map(({ id }) => id),
});

/**
 * What a caller may read. Administrators may read everything. Other callers may read what the permissions of their policies grant,
 * and app users may also read their own user and roles. Some collections are only for administrators. Rules are parsed when
 * a collection is first used.
 */
export function accessViewOf(caller: Caller, now: Date): AccessView {
  if (caller.admin && caller.credential?.scopes == null) return seesAll;
  const variables = variablesOf(caller, now);
  const known = new Map<CollectionName, readonly ReadGrant[]>();
  return (name) => {
    if (isUnlimited(caller, name, 'read')) return seesAll(name);
    if (collections[name].isForAdministrators) return [];
    const grants = known.get(name) ?? [...granted(caller, name, variables), ...ownGrants(caller, name, variables)];
    known.set(name, grants);
    return grants;
  };
}

function granted(caller: Caller, name: CollectionName, variables: Variables): ReadGrant[] {
  return permissionsFor(caller, name, 'read')
    .map(({ id, permissions, fields }) => ({
      permission: id,
      // A grant that names no existing field would still reveal that there are items, and their keys.
      fields: fields?.includes('*')
        ? ('*' as const)
        : new Set((fields ?? []).filter((field) => collections[name].fields.has(field))),
      rule: ruleOf(permissions, name, variables),
    }))
    .filter(({ fields }) => fields === '*' || fields.size > 0);
}

/** An app user may read their own user and their roles. */
function ownGrants(caller: Caller, name: CollectionName, variables: Variables): ReadGrant[] {
  const own = ownRuleOf(caller, name);
  return own ? [{ fields: '*', rule: ruleOf(own, name, variables) }] : [];
}
