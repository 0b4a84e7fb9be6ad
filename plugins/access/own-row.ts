import type { Rights } from '../server/caller.js';

/**
 * Whether the caller may certainly read these fields of their own row, determined without a database query: a permission covers all
 * users or the caller's own user. If the result is false, the row may still match the rule of another permission.
 */
export function seesOwnRow({ admin, app, policies }: Rights, fields: readonly string[]): boolean {
  if (admin || app) return true;
  const granted = policies
    .flatMap(({ permissions }) => permissions)
    .filter(({ collection, action }) => collection === 'users' && action === 'read')
    .filter(({ permissions: rule }) => isAlwaysOwn(rule))
    .map(({ fields }) => new Set(fields));
  return fields.every((name) => granted.some((names) => names.has('*') || names.has(name)));
}

function isAlwaysOwn(rule: Record<string, unknown> | null): boolean {
  const text = JSON.stringify(rule ?? {});
  return text === '{}' || text === '{"id":{"_eq":"$CURRENT_USER"}}';
}
