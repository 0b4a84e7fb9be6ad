import type { Executor } from '../../db/client.js';
import { brokenConstraint } from '../../db/failures.js';
import { existingKeys, type Key, rowsWithValues } from '../../db/queries/items/writes.js';
import { type Collection, collections } from '../../db/query-language/collections.js';
import { ApiError } from '../../schemas/errors.js';
import type { Payload } from './payload.js';

/** Requires that keys chosen by the caller do not exist yet. @throws {ApiError} RECORD_NOT_UNIQUE */
export async function checkNewKeys(
  tx: Executor,
  collection: Collection,
  items: readonly { payload: Payload; input: Record<string, unknown> }[],
): Promise<void> {
  const chosen = items.filter(({ payload }) => payload.columns.id !== undefined);
  const existing = await existingKeys(
    tx,
    collection,
    chosen.map(({ payload }) => payload.columns.id as Key),
  );
  for (const { payload, input } of chosen) {
    const id = payload.columns.id as Key;
    if (existing.has(id))
      throw new ApiError('RECORD_NOT_UNIQUE', { collection: collection.name, field: 'id', value: input.id });
    existing.add(id);
  }
}

/**
 * Requires that a value is unique: it must not occur twice in the request or exist in another row.
 * @param shown the value that the error contains
 * @throws {ApiError} RECORD_NOT_UNIQUE
 */
export async function checkUnique<Item extends { keys: readonly Key[]; payload: Payload }>(
  tx: Executor,
  collection: Collection,
  changes: readonly Item[],
  field: string,
  column: string,
  letterCase: 'exact' | 'any',
  shown: (change: Item) => unknown,
): Promise<void> {
  const seen = new Map<string, { change: Item; keys: readonly Key[] }>();
  const duplicateError = (change: Item) =>
    new ApiError('RECORD_NOT_UNIQUE', { collection: collection.name, field, value: shown(change) ?? null });
  for (const change of changes) {
    const value = change.payload.columns[column];
    if (typeof value !== 'string') continue;
    const canonical = letterCase === 'any' ? value.toLowerCase() : value;
    if (seen.has(canonical) || change.keys.length > 1) throw duplicateError(change);
    seen.set(canonical, { change, keys: change.keys });
  }
  for (const { id, value, stored } of await rowsWithValues(tx, collection, column, [...seen.keys()], letterCase)) {
    const found = seen.get(value);
    if (!found) continue;
    if (!found.keys.includes(id)) throw duplicateError(found.change);
    // A value that is already stored is not a change, and has no consequences.
    const { columns } = found.change.payload;
    if (columns[column] === stored) delete columns[column];
  }
}

/** Rejects foreign keys that do not exist, and names their field. @throws {ApiError} INVALID_FOREIGN_KEY */
export async function checkForeignKeys(
  tx: Executor,
  collection: Collection,
  changes: readonly { payload: Payload }[],
): Promise<void> {
  for (const [name, field] of collection.fields) {
    if (field.target === undefined) continue;
    const used = changes.flatMap(({ payload }): Key[] => {
      if (field.kind === 'list') return payload.links.get(name) ?? [];
      const value = payload.columns[field.column];
      return typeof value === 'string' || typeof value === 'number' ? [value] : [];
    });
    const existing = await existingKeys(tx, collections[field.target], [...new Set(used)]);
    const unknown = used.find((key) => !existing.has(key));
    if (unknown !== undefined) {
      throw new ApiError('INVALID_FOREIGN_KEY', { collection: collection.name, field: name, value: unknown });
    }
  }
}

const concealed = '**********';

/**
 * Two concurrent requests can both pass the checks. The database then rejects one of them, and this function converts the database
 * error into the error that the checks would have thrown.
 */
export async function withConstraintErrors<T>(
  collection: Collection,
  items: readonly { input: Record<string, unknown> }[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const broken = brokenConstraint(error);
    if (!broken) throw error;
    const [name, field] = [...collection.fields].find(
      ([, candidate]) => candidate.kind === 'value' && broken.name.includes(`_${candidate.column}_`),
    ) ?? ['id'];
    const [first, ...others] = items.filter(({ input }) => input[name] !== undefined);
    const isConcealed = field?.kind === 'value' && field.concealed;
    const value = others.length > 0 ? null : isConcealed ? concealed : (first?.input[name] ?? null);
    const place = { collection: collection.name, field: name, value };
    throw broken.kind === 'unique'
      ? new ApiError('RECORD_NOT_UNIQUE', place)
      : new ApiError('INVALID_FOREIGN_KEY', place);
  }
}
