import type { PermissionRecord } from '../../db/queries/access/principals.js';
import type { Variables } from '../../db/query-language/variables.js';
import type { Caller } from '../http/caller.js';
import { isInScope } from '../http/credential.js';

type Rule = Record<string, unknown> | null;

type Action = PermissionRecord['action'];

/** Whether a caller may do everything with a collection that the action allows, without any permission. */
export const isUnlimited = (
  caller: Pick<Caller, 'admin' | 'credential'>,
  collection: string,
  action: Action,
): boolean => caller.admin && isInScope(caller, collection, action);

/** The permissions that a caller's policies contain for an action on a collection, if the scopes of their credential allow it. */
export const permissionsFor = (
  caller: Pick<Caller, 'policies' | 'credential'>,
  collection: string,
  action: Action,
): PermissionRecord[] =>
  isInScope(caller, collection, action)
    ? caller.policies
        .flatMap(({ permissions }) => permissions)
        .filter((permission) => permission.collection === collection && permission.action === action)
    : [];

/** Whether a rule applies to all items. */
export const isEmptyRule = (rule: Rule): boolean => rule === null || Object.keys(rule).length === 0;

/** Whether a permission has no conditions. The settings are a single row, for which rules are not evaluated, so others have no effect on them. */
export const isUnconditional = ({ permissions, validation }: PermissionRecord): boolean =>
  isEmptyRule(permissions) && isEmptyRule(validation);

/** The items that an app user may read without a permission: their own user and their roles. */
export const ownRules = {
  users: { id: { _eq: '$CURRENT_USER' } },
  roles: { id: { _in: '$CURRENT_ROLES' } },
} as const;

/** The rule for what a caller may read in a collection without a permission; undefined: nothing. */
export function ownRuleOf(
  caller: Pick<Caller, 'app' | 'credential'>,
  collection: string,
): (typeof ownRules)[keyof typeof ownRules] | undefined {
  if (!caller.app || (collection !== 'users' && collection !== 'roles')) return undefined;
  return isInScope(caller, collection, 'read') ? ownRules[collection] : undefined;
}

/** The variables of rules that are only parsed. */
export const noVariables: Variables = { now: new Date(0), user: null, role: null, roles: [], policies: [] };
