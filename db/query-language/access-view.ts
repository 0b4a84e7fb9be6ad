import type { CollectionName } from './collections.js';
import type { Filter } from './filter.js';

/** A right to read: these fields of the items that match the rule. */
export interface ReadGrant {
  fields: ReadonlySet<string> | '*';
  /** Null: of all items. */
  rule: Filter | null;
}

/**
 * What a query may see. Grants add up: an item is visible when the rule of any of them matches it, and a field of it
 * when one that names the field does. No grant: nothing is visible.
 */
export type AccessView = (collection: CollectionName) => readonly ReadGrant[];

/** Sees everything: for administrators, and for the rules themselves. */
export const seesAll: AccessView = () => [{ fields: '*', rule: null }];

/** Whether a field may be named at all, on whichever items. */
export const isReadable = (grants: readonly ReadGrant[], field: string): boolean =>
  grants.some(({ fields }) => fields === '*' || fields.has(field));

/** Whether they let every item be seen, whatever is in it. */
export const coverAllItems = (grants: readonly ReadGrant[]): boolean => grants.some(({ rule }) => rule === null);
