import type { Rights } from '../server/caller.js';

/**
 * Whether these fields of the caller's own row may be read for certain, without asking the database: by a permission
 * that is for all users, or for oneself. When not, there may still be a rule that the row happens to match.
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
