import type { Collection } from '../../db/query-language/collections.js';
import { ApiError } from '../../schemas/errors.js';
import type { WriteGrant } from '../access/write-grants.js';
import type { Caller } from '../http/caller.js';
import { includesField } from './grant-checks.js';
import { requireFields, type SpecialFields } from './payload.js';

interface FieldRules {
  special: SpecialFields;
  adminOnly: ReadonlySet<string>;
}

/** The default values of a new item. */
export const presetsOf = (grants: readonly WriteGrant[]): Record<string, unknown> =>
  Object.assign({}, ...grants.map((grant) => grant.presets));

/**
 * Requires that all fields exist, that each field that the caller provides is named by a grant, and that only administrators write
 * what is reserved for them. The rules of the grants are checked later.
 * @param merged the fields that the caller provides, and those that presets add, which need no grant
 * @throws {ApiError} INVALID_PAYLOAD, FORBIDDEN
 */
export function requireWritable(
  { admin }: Pick<Caller, 'admin'>,
  collection: Collection,
  { special, adminOnly }: FieldRules,
  grants: readonly WriteGrant[],
  { given, merged }: { given: object; merged: object },
): void {
  const { name } = collection;
  requireFields(collection, merged, special);
  // The API reference lists all fields, so naming one in the reason reveals nothing.
  const withheld = Object.keys(given).find((field) => !grants.some((grant) => includesField(grant, field)));
  if (withheld !== undefined)
    throw new ApiError('FORBIDDEN', { reason: `You are not allowed to write ${withheld} of ${name}` });
  const reserved = Object.keys(merged).find((field) => adminOnly.has(field));
  if (!admin && reserved !== undefined)
    throw new ApiError('FORBIDDEN', { reason: `Only an administrator can write ${reserved} of ${name}` });
}

/** The fields that a request can write at all, regardless of the caller. */
export function writableFields(
  { fields }: Collection,
  { special }: Pick<FieldRules, 'special'>,
  action: 'create' | 'update' | 'delete',
): string[] {
  if (action === 'delete') return [];
  const stored = [...fields].flatMap(([name, field]) => {
    const isWritten = field.kind === 'value' ? !field.readOnly : field.held === true;
    return isWritten && (name !== 'id' || action === 'create') ? [name] : [];
  });
  return [...new Set([...stored, ...Object.keys(special)])];
}
