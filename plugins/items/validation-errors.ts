import type { Executor } from '../../db/client.js';
import { type Key, matchingKeys } from '../../db/queries/items/writes.js';
import { type Collection, collections } from '../../db/query-language/collections.js';
import { type Filter, seesAll } from '../../db/query-language/filter.js';
import type { ErrorExtensions } from '../../schemas/errors.js';

type Extensions = ErrorExtensions<'FAILED_VALIDATION'>;

/** Finds the first condition of a validation that an item does not meet, and describes it for the error response. */
export async function findUnmet(
  tx: Executor,
  collection: Collection,
  key: Key,
  validation: Filter,
): Promise<Extensions> {
  if ('filters' in validation) {
    for (const part of validation.filters) {
      const met = await matchingKeys(tx, collection, [key], [part], seesAll);
      if (!met.has(key)) return findUnmet(tx, collection, key, part);
    }
  }
  return described(validation, collection, []);
}

/** Describes what a condition requires. For a relation, this is the first condition on the related items. */
function described(filter: Filter, collection: Collection, path: readonly string[]): Extensions {
  if ('filters' in filter && filter.filters[0]) return described(filter.filters[0], collection, path);
  if ('filter' in filter) {
    const target = collection.fields.get(filter.field)?.target;
    if (target) return described(filter.filter, collections[target], [...path, filter.field]);
  }
  if (filter.kind !== 'compare') return { field: path.at(-1) ?? 'id', path: [...path.slice(0, -1)], type: 'none' };
  const field = collection.fields.get(filter.field);
  const isSecret = field?.kind === 'value' && field.concealed;
  const asked = isSecret ? {} : expected(filter.operator, filter.values);
  return { field: filter.field, path: [...path], type: filter.operator, ...asked };
}

const several = new Set(['in', 'nin', 'between', 'nbetween']);

function expected(operator: string, values: readonly unknown[]): Pick<Extensions, 'valid' | 'invalid' | 'substring'> {
  if (values.length === 0) return {};
  const value = several.has(operator) ? values : values[0];
  if (/contains$|_with$/.test(operator)) return { substring: String(value) };
  return operator.startsWith('n') ? { invalid: value } : { valid: value };
}
