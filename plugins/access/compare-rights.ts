import type { PermissionRecord, PolicyRecord } from '../../db/queries/access/principals.js';
import { collections } from '../../db/query-language/collections.js';
import type { Filter } from '../../db/query-language/filter.js';
import type { Variables } from '../../db/query-language/variables.js';
import { ruleOf } from './write-grants.js';

/** Somebody with rights: what they are granted, and what the variables in it stand for. */
export interface Holder {
  policies: readonly PolicyRecord[];
  variables: Variables;
}

/** A permission as it stands for its holder: to these fields of these items. */
interface Right {
  collection: string;
  action: PermissionRecord['action'];
  fields: readonly string[];
  rule: Filter | null;
  validation: Filter | null;
}

/**
 * Whether somebody has rights that another lacks. Rights over one's own user don't count: whoever may change an account
 * has as much of it already. In doubt the answer is yes: rules are compared as they stand, not by what they select.
 */
export function hasMoreRights(somebody: Holder, another: Holder): boolean {
  const had = rightsOfHolder(another);
  return rightsOfHolder(somebody).some(
    (right) => !isOverOneself(right, somebody.variables) && !right.fields.every((field) => isHad(right, field, had)),
  );
}

function rightsOfHolder({ policies, variables }: Holder): Right[] {
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
  const found = Object.values(collections).find(({ name }) => name === collection);
  if (found) return ruleOf(rule, found.name, variables);
  return rule === null || Object.keys(rule).length === 0 ? null : { kind: 'never' };
}

const isHad = (right: Right, field: string, had: readonly Right[]): boolean =>
  had.some(
    ({ collection, action, fields, rule, validation }) =>
      collection === right.collection &&
      action === right.action &&
      (fields.includes('*') || fields.includes(field)) &&
      isAsWide(rule, right.rule) &&
      isAsWide(validation, right.validation),
  );

const isAsWide = (filter: Filter | null, other: Filter | null) =>
  filter === null || JSON.stringify(filter) === JSON.stringify(other);

function isOverOneself({ collection, rule }: Right, { user }: Variables): boolean {
  const isSelf = (filter: Filter): boolean => {
    if (filter.kind === 'and') return filter.filters.some(isSelf);
    return filter.kind === 'compare' && filter.field === 'id' && filter.operator === 'eq' && filter.values[0] === user;
  };
  return collection === 'users' && rule !== null && isSelf(rule);
}
