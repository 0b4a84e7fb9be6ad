import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import { type Columns, insertRecords, type Key, lockRecords, replaceLinks } from '../../db/queries/items/writes.js';
import type { Collection } from '../../db/query-language/collections.js';
import { ApiError } from '../../schemas/errors.js';
import type { Payload } from './payload.js';

/**
 * Locks the items with these keys.
 * @throws {ApiError} FORBIDDEN when an item does not exist, without revealing which one
 */
export async function lockAll(tx: Executor, collection: Collection, keys: readonly Key[]): Promise<void> {
  const distinct = new Set(keys);
  const locked = await lockRecords(tx, collection, [...distinct]);
  if (locked.length !== distinct.size) throw new ApiError('FORBIDDEN');
}

/** Stores new items, with defaults for columns that were not provided. @returns their keys, in order */
export async function insert(
  tx: Executor,
  collection: Collection,
  defaults: Columns,
  items: readonly { payload: Payload }[],
) {
  const given = new Set(items.flatMap(({ payload }) => Object.keys(payload.columns)));
  const columns = [...new Set([...Object.keys(defaults), ...given])].filter((column) => column !== 'id');
  const records = items.map(({ payload }) => {
    const record = Object.fromEntries(
      columns.map((column) => [column, payload.columns[column] ?? defaults[column] ?? null]),
    );
    return collection.keyType === 'uuid' ? { id: payload.columns.id ?? randomUUID(), ...record } : record;
  });
  return insertRecords(tx, collection, records);
}

/** Stores the lists of links that the payloads contain. */
export async function writeLinks(
  tx: Executor,
  collection: Collection,
  items: readonly { keys: readonly Key[]; payload: Payload }[],
): Promise<void> {
  for (const [name, field] of collection.fields) {
    if (field.kind !== 'list' || !field.held) continue;
    const links = items.flatMap(({ keys, payload }) => {
      const list = payload.links.get(name);
      return list ? keys.map((key) => [key, list] as const) : [];
    });
    await replaceLinks(tx, field, new Map(links));
  }
}

/** The columns to update in each row. */
export const rowsOf = (items: readonly { keys: readonly Key[]; payload: Payload }[]): (Columns & { id: Key })[] =>
  items.flatMap(({ keys, payload }) =>
    Object.keys(payload.columns).length === 0 ? [] : keys.map((id) => ({ ...payload.columns, id })),
  );
