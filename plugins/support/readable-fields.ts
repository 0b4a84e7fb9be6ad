import type { ReadGrant } from '../../db/query-language/filter.js';

/**
 * The fields of an item that the caller may read: those of the grants whose rules it matches.
 * @param matching for each of the grants, whether the item matches its rule
 */
export function readableFields<Item extends object>(
  item: Item,
  grants: readonly ReadGrant[],
  matching: readonly boolean[],
): Partial<Item> {
  const applied = grants.filter((_grant, index) => matching[index]);
  const isReadable = (name: string) => applied.some(({ fields }) => fields === '*' || fields.has(name));
  return Object.fromEntries(Object.entries(item).filter(([name]) => isReadable(name))) as Partial<Item>;
}
