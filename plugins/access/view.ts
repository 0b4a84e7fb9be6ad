import { hasField, type RuledCollectionName, ruledCollections } from '../../db/query-language/collections.js';
import {
  type AccessView,
  type Filter,
  type ReadGrant,
  ruleOf,
  seesAll,
  type UserReach,
} from '../../db/query-language/filter.js';
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
 * @param reach the users in the caller's reach; null: none, because the query does not need them
 */
export function accessViewOf(caller: Caller, now: Date, reach: UserReach | null = null): AccessView {
  if (caller.admin && caller.credential?.scopes == null) return seesAll;
  const variables = variablesOf(caller, now);
  const known = new Map<RuledCollectionName, readonly ReadGrant[]>();
  return (name) => {
    if (isUnlimited(caller, name, 'read')) return seesAll(name);
    const { isForAdministrators, owner } = ruledCollections[name];
    if (isForAdministrators || (owner !== undefined && (reach === null || caller.userId === null))) return [];
    const within: Filter | null =
      owner === undefined || reach === null ? null : { kind: 'reachable', field: owner, reach };
    const grants =
      known.get(name) ??
      [...granted(caller, name, variables), ...ownGrants(caller, name, variables)].map(({ rule, ...grant }) => ({
        ...grant,
        rule: both(within, rule),
      }));
    known.set(name, grants);
    return grants;
  };
}

const both = (one: Filter | null, other: Filter | null): Filter | null =>
  one === null || other === null ? (one ?? other) : { kind: 'and', filters: [one, other] };

/** What the caller's permissions allow them to read, regardless of whom the items are about. */
export const readGrantsOf = (caller: Caller, name: RuledCollectionName, variables: Variables): readonly ReadGrant[] =>
  isUnlimited(caller, name, 'read') ? seesAll(name) : granted(caller, name, variables);

function granted(caller: Caller, name: RuledCollectionName, variables: Variables): ReadGrant[] {
  return permissionsFor(caller, name, 'read')
    .map(({ id, permissions, fields }) => ({
      permission: id,
      // A grant that names no existing field would still reveal that there are items, and their keys.
      fields: fields?.includes('*')
        ? ('*' as const)
        : new Set((fields ?? []).filter((field) => hasField(ruledCollections[name], field))),
      rule: ruleOf(permissions, name, variables),
    }))
    .filter(({ fields }) => fields === '*' || fields.size > 0);
}

/** An app user may read their own user and their roles. */
function ownGrants(caller: Caller, name: RuledCollectionName, variables: Variables): ReadGrant[] {
  const own = ownRuleOf(caller, name);
  return own ? [{ fields: '*', rule: ruleOf(own, name, variables) }] : [];
}
