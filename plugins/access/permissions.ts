import type { PermissionRecord } from '../../db/queries/access/principals.js';
import type { Variables } from '../../db/query-language/variables.js';
import type { Rights } from '../http/caller.js';

type Rule = Record<string, unknown> | null;

/** The permissions that a caller's policies contain for an action on a collection. */
export const permissionsFor = (
  { policies }: Pick<Rights, 'policies'>,
  collection: string,
  action: PermissionRecord['action'],
): PermissionRecord[] =>
  policies
    .flatMap(({ permissions }) => permissions)
    .filter((permission) => permission.collection === collection && permission.action === action);

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
  { app }: Pick<Rights, 'app'>,
  collection: string,
): (typeof ownRules)[keyof typeof ownRules] | undefined {
  return app && (collection === 'users' || collection === 'roles') ? ownRules[collection] : undefined;
}

/** The variables of rules that are only parsed. */
export const noVariables: Variables = { now: new Date(0), user: null, role: null, roles: [], policies: [] };
