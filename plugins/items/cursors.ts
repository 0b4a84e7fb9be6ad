import type { Position } from '../../db/queries/items/items.js';
import type { Collection } from '../../db/query-language/collections.js';
import { invalidQuery } from '../../db/query-language/invalid-query.js';
import { nameOfSort, type SortKey } from '../../db/query-language/query.js';
import type { SecretBox } from '../platform/encryption.js';

/**
 * A cursor identifies the row after which a list continues, by the row's values in the sort fields. Cursors are encrypted, so that
 * they reveal nothing and no client can forge one to compare it with hidden values.
 */
export interface Cursors {
  /** @param position null: before the first row */
  write(collection: Collection, sort: readonly SortKey[], position: Position | null): string;
  /** @throws {ApiError} INVALID_QUERY when the service did not issue the cursor, or issued it for another collection or sort */
  read(collection: Collection, sort: readonly SortKey[], cursor: string): Position | null;
}

export function createCursors(box: SecretBox): Cursors {
  const owner = ({ name }: Collection, sort: readonly SortKey[]) => `${name} ${nameOfSort(sort)}`;
  return {
    write: (collection, sort, position) => box.seal(JSON.stringify(position), owner(collection, sort)),
    read: (collection, sort, cursor) => {
      try {
        return JSON.parse(box.open(cursor, owner(collection, sort))) as Position | null;
      } catch {
        throw invalidQuery('The cursor is invalid, or was returned for a different sort');
      }
    },
  };
}
