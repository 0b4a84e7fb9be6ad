import { sql } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { type Collection, collections } from '../../query-language/collections.js';
import { createCompiler, fewValues, needsItem, smallCollections } from '../../query-language/compile.js';
import type { AccessView, Filter, Scalar } from '../../query-language/filter.js';
import { rows } from '../../statements.js';

/** How many conditions of one query are replaced, each after one statement. */
const maxReplaced = 4;

/**
 * Replaces conditions on related items of small collections by the keys of these items, if there are few. With a condition such as "the
 * parent of the role is …", PostgreSQL cannot know whether many users match or none, and may read all of them to find out.
 */
export async function withKnownKeys(
  executor: Executor,
  collection: Collection,
  filter: Filter | null,
  access: AccessView,
): Promise<Filter | null> {
  if (filter === null || smallCollections.has(collection.name)) return filter;
  let left = maxReplaced;

  const replaced = async (part: Filter): Promise<Filter> => {
    if (part.kind === 'and') {
      const filters: Filter[] = [];
      for (const one of part.filters) filters.push(await replaced(one));
      return { kind: 'and', filters };
    }
    if (part.kind !== 'through') return part;
    const target = targetOf(collection, part.field);
    if (!target || !isAboutSmall(target, part.filter) || !needsItem(part.filter) || left === 0) return part;
    left--;
    const compiler = createCompiler(access);
    const item = compiler.row(target);
    const found = await rows<{ id: Scalar }>(
      executor,
      sql`select ${compiler.column(item, 'id')} as id from ${compiler.source(item)}
        where ${compiler.visible(item)} and ${compiler.matches(item, part.filter)} limit ${fewValues + 1}`,
    );
    if (found.length > fewValues) return part;
    if (found.length === 0) return { kind: 'never' };
    return { kind: 'compare', field: part.field, operator: 'in', values: found.map(({ id }) => id) };
  };
  return replaced(filter);
}

function targetOf({ fields }: Collection, name: string): Collection | undefined {
  const target = fields.get(name)?.target;
  return target === undefined ? undefined : collections[target];
}

/** Whether a filter reads only small collections. */
function isAboutSmall(collection: Collection, filter: Filter): boolean {
  if (!smallCollections.has(collection.name)) return false;
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.filters.every((part) => isAboutSmall(collection, part));
    case 'through':
    case 'some':
    case 'none': {
      const target = targetOf(collection, filter.field);
      return target !== undefined && isAboutSmall(target, filter.filter);
    }
    default:
      return true;
  }
}
