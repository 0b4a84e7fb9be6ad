import type { CollectionName } from './collections.js';
import type { Filter } from './filter.js';

/** Permission to read these fields of the items that match the rule. */
export interface ReadGrant {
  fields: ReadonlySet<string> | '*';
  /** Null: all items. */
  rule: Filter | null;
}

/**
 * What a query may read. Grants add up: an item is visible if the rule of any grant matches it, and a field of the item is
 * visible if the rule of any grant that includes the field matches. Without grants, nothing is visible.
 */
export type AccessView = (collection: CollectionName) => readonly ReadGrant[];

/** Gives access to everything: for administrators, and for the evaluation of rules. */
export const seesAll: AccessView = () => [{ fields: '*', rule: null }];

/** Whether a query may name a field at all, on any item. */
export const isReadable = (grants: readonly ReadGrant[], field: string): boolean =>
  grants.some(({ fields }) => fields === '*' || fields.has(field));

/** Whether the grants make every item visible, whatever it contains. */
export const coverAllItems = (grants: readonly ReadGrant[]): boolean => grants.some(({ rule }) => rule === null);
