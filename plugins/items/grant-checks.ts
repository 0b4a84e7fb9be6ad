import type { Executor } from '../../db/client.js';
import { type Key, matchingKeys } from '../../db/queries/items/writes.js';
import type { Collection } from '../../db/query-language/collections.js';
import { type Filter, seesAll } from '../../db/query-language/filter.js';
import { ApiError } from '../../schemas/errors.js';
import type { WriteGrant } from '../access/write-grants.js';
import { findUnmet } from './validation-errors.js';

/** The fields that a request writes, and the items that it writes them to. */
export interface WrittenFields {
  keys: readonly Key[];
  fields: readonly string[];
}

/** A grant, and the items that it applies to. */
export interface AppliedGrant {
  grant: WriteGrant;
  keys: ReadonlySet<Key>;
}

export const includesField = ({ fields }: WriteGrant, field: string) => fields === '*' || fields.has(field);

/**
 * Requires that each field of each item is named by a grant whose rule the item matches. A grant that applies to some items adds
 * no rights to other items.
 * @returns the grants, each with the items that it applies to
 * @throws {ApiError} FORBIDDEN
 */
export async function requireGrants(
  tx: Executor,
  collection: Collection,
  written: readonly WrittenFields[],
  grants: readonly WriteGrant[],
): Promise<AppliedGrant[]> {
  const applied = await applyTo(tx, collection, written, grants, ({ rule }) => rule);
  if (!written.every((item) => isCovered(item, applied))) throw new ApiError('FORBIDDEN');
  return applied;
}

/**
 * Requires, after the write, that each field of each item is named by a grant that applied to the item and whose validation the
 * item now passes.
 * @throws {ApiError} FAILED_VALIDATION
 */
export async function requireValid(
  tx: Executor,
  collection: Collection,
  written: readonly WrittenFields[],
  applied: readonly AppliedGrant[],
): Promise<void> {
  const grants = applied.map(({ grant }) => grant);
  const valid = await applyTo(tx, collection, written, grants, ({ validation }) => validation);
  const both = valid.map(({ grant, keys }, index) => ({
    grant,
    keys: new Set([...keys].filter((key) => applied[index]?.keys.has(key))),
  }));
  const refused = written.find((item) => !isCovered(item, both));
  if (refused) throw await validationFailure(tx, collection, refused, applied, both);
}

/** Describes the unmet condition of the first grant that could have allowed the write. */
async function validationFailure(
  tx: Executor,
  collection: Collection,
  { keys, fields }: WrittenFields,
  applied: readonly AppliedGrant[],
  valid: readonly AppliedGrant[],
): Promise<ApiError<'FAILED_VALIDATION'>> {
  for (const key of keys) {
    const one = { keys: [key], fields };
    if (isCovered(one, valid)) continue;
    const field = fields.find((name) => !isCovered({ keys: [key], fields: [name] }, valid));
    const failedGrant = applied.find(
      (each) => each.keys.has(key) && (field === undefined || includesField(each.grant, field)),
    );
    const validation = failedGrant?.grant.validation;
    if (validation) return new ApiError('FAILED_VALIDATION', await findUnmet(tx, collection, key, validation));
  }
  throw new Error('A validation failed, but no grant requires it');
}

/** Finds the items that match the filter of each grant. If a grant has no filter, all items match. */
async function applyTo(
  tx: Executor,
  collection: Collection,
  written: readonly WrittenFields[],
  grants: readonly WriteGrant[],
  filterOf: (grant: WriteGrant) => Filter | null,
): Promise<AppliedGrant[]> {
  const keys = new Set(written.flatMap((item) => item.keys));
  const applied: AppliedGrant[] = [];
  for (const grant of grants) {
    const filter = filterOf(grant);
    const isMet = filter === null || keys.size === 0;
    applied.push({ grant, keys: isMet ? keys : await matchingKeys(tx, collection, [...keys], [filter], seesAll) });
  }
  return applied;
}

/** Whether each field of the items is named by a grant that applies to them. If there are no fields, any grant is enough. */
function isCovered({ keys, fields }: WrittenFields, applied: readonly AppliedGrant[]): boolean {
  const covers = (key: Key, field?: string) =>
    applied.some((one) => one.keys.has(key) && (field === undefined || includesField(one.grant, field)));
  return keys.every((key) => (fields.length === 0 ? covers(key) : fields.every((field) => covers(key, field))));
}
