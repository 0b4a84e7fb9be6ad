import type { PermissionRecord, PolicyRecord } from '../../db/queries/access/principals.js';
import { ruledCollections } from '../../db/query-language/collections.js';
import { type Filter, ruleOf } from '../../db/query-language/filter.js';
import type { Variables } from '../../db/query-language/variables.js';
import { isEmptyRule } from './permissions.js';

/** The policies of a user, and the values of the variables in their rules. */
export interface RightsHolder {
  policies: readonly PolicyRecord[];
  variables: Variables;
}

/** A permission with the variables of its holder filled in: it covers these fields of the items that match the rule. */
interface Right {
  collection: string;
  action: PermissionRecord['action'];
  fields: readonly string[];
  rule: Filter | null;
  validation: Filter | null;
}

/**
 * Whether a holder has rights that the other one lacks. The holder's rights over their own user are ignored, because a caller who
 * may change that account already has as many rights over it. When in doubt, the result is true: rules are compared as they are
 * written, not by the items that they select.
 */
export const hasMoreRights = (holder: RightsHolder, other: RightsHolder): boolean => comparedWith(other)(holder);

/** Compares many holders with the same other one. */
export function comparedWith(other: RightsHolder): (holder: RightsHolder) => boolean {
  const existing = rightsOfHolder(other);
  return (holder) =>
    rightsOfHolder(holder).some(
      (right) => !isOverSelf(right, holder.variables) && !right.fields.every((field) => isHeld(right, field, existing)),
    );
}

function rightsOfHolder({ policies, variables: { roles, ...own } }: RightsHolder): Right[] {
  // Rules are compared as they are written, so the lists in them must be in the same order.
  const variables = { ...own, roles: roles.toSorted(), policies: own.policies.toSorted() };
  return policies
    .flatMap(({ permissions }) => permissions)
    .map(({ collection, action, fields, permissions, validation }) => ({
      collection,
      action,
      fields: action === 'delete' ? ['*'] : (fields ?? []),
      rule: resolved(permissions, collection, variables),
      validation: resolved(validation, collection, variables),
    }))
    .filter(({ rule }) => rule?.kind !== 'never');
}

function resolved(rule: Record<string, unknown> | null, collection: string, variables: Variables): Filter | null {
  const found = Object.values(ruledCollections).find(({ name }) => name === collection);
  if (found) return ruleOf(rule, found.name, variables);
  return isEmptyRule(rule) ? null : { kind: 'never' };
}

const isHeld = (right: Right, field: string, existing: readonly Right[]): boolean =>
  existing.some(
    ({ collection, action, fields, rule, validation }) =>
      collection === right.collection &&
      action === right.action &&
      (fields.includes('*') || fields.includes(field)) &&
      isAsWide(rule, right.rule) &&
      isAsWide(validation, right.validation),
  );

const isAsWide = (filter: Filter | null, other: Filter | null) =>
  filter === null || JSON.stringify(filter) === JSON.stringify(other);

function isOverSelf({ collection, rule }: Right, { user }: Variables): boolean {
  const isSelf = (filter: Filter): boolean => {
    if (filter.kind === 'and') return filter.filters.some(isSelf);
    return filter.kind === 'compare' && filter.field === 'id' && filter.operator === 'eq' && filter.values[0] === user;
  };
  return collection === 'users' && rule !== null && isSelf(rule);
}
