import { type SQL, sql } from 'drizzle-orm';
import { createBoundedCache } from '../../bounded-cache.js';
import {
  type Collection,
  collections,
  type Field,
  type LinkTable,
  type ListField,
  type ValueField,
} from '../../query-language/collections.js';
import { type Compiler, createCompiler, type Row } from '../../query-language/compile.js';
import type { FieldTree } from '../../query-language/fields.js';
import { type AccessView, coverEverything, seesAll } from '../../query-language/filter.js';
import { writeStatement } from '../../statements.js';

/** Maximum number of items of a list that are returned inside another item. */
const maxNested = 100;

/** An additional column of a row, after its fields. */
export const idColumn = ' id';

/** Placeholder for a long value. If a real value happens to be the same, the rows are read once more, with no other effect. */
const largeValue = ' large';

export interface ColumnOptions {
  /** Size limit, in bytes, for values without a maximum length. A longer value is replaced by a placeholder: see {@link hasOversizedValue}. */
  maxBytes?: number;
  /** Whether to select the key as {@link idColumn}, whether or not the caller may read it. */
  withId?: boolean;
}

/**
 * The columns that a statement selects from a row. For a relation, these are only the keys; the items behind them are read later,
 * once each. Without fields, only the key is selected, as `id`.
 */
export function selectColumns(compiler: Compiler, row: Row, fields: FieldTree, options: ColumnOptions = {}): SQL {
  const { maxBytes, withId } = options;
  const columns = [...fields].map(
    ([name, subtree]) => sql`${output(compiler, row, name, subtree, maxBytes)} as ${sql.identifier(name)}`,
  );
  if (withId) columns.push(sql`${compiler.column(row, 'id')} as ${sql.identifier(idColumn)}`);
  else if (columns.length === 0) columns.push(sql`${compiler.column(row, 'id')} as id`);
  return sql.join(columns, sql`, `);
}

const written = createBoundedCache<SQL>(200);

/** Whether the caller may read these fields on every item, so that the values do not depend on who the caller is. */
export const seesEvery = (access: AccessView, { name, fields }: Collection, tree: FieldTree): boolean =>
  coverEverything(access(name)) &&
  [...tree].every(([fieldName, subtree]) => {
    const field = fields.get(fieldName);
    const isOnlyKeys = subtree === null && (field?.kind === 'value' || field?.held === true);
    return (
      field?.target === undefined || isOnlyKeys || seesEvery(access, collections[field.target], subtree ?? new Map())
    );
  });

/**
 * The same for callers who see all of these fields ({@link seesEvery}). The text contains no values, so it is reused for the same set
 * of fields.
 * @param row the first row of a statement
 */
export function compiledColumns(compiler: Compiler, row: Row, fields: FieldTree, options: ColumnOptions): SQL {
  const { collection } = row;
  // Adds the tables of these fields to the source.
  for (const name of fields.keys()) if (collection.fields.get(name)?.kind === 'value') compiler.column(row, name);
  const { readsBesideLast = false } = row;
  const name = `${collection.name} ${nameOf(collection, fields)} ${options.maxBytes} ${options.withId} ${readsBesideLast}`;
  return written(name, () => {
    const writer = createCompiler(seesAll);
    const own = Object.assign(writer.row(collection), { readsBesideLast });
    const query = writeStatement(selectColumns(writer, own, fields, options));
    if (query.params.length > 0) throw new Error('The columns must not contain values.');
    return sql.raw(query.sql);
  });
}

/** A name for a set of fields. For a relation that is followed, the statement contains only the keys. */
const nameOf = ({ fields }: Collection, tree: FieldTree): string =>
  [...tree]
    .map(([name, subtree]) => {
      const target = inlineTarget(fields.get(name), subtree);
      return subtree ? `${name}(${target ? nameOf(target, subtree) : ''})` : name;
    })
    .join();

/** Longest text, in characters, that may be read repeatedly, once for each row that refers to it. */
const maxInlineLength = 255;

/**
 * The collection of a related item that is read together with the row instead of in a separate statement: a single item of which
 * only short values are requested. Undefined for all other fields.
 */
export function inlineTarget(field: Field | undefined, subtree: FieldTree | null): Collection | undefined {
  if (subtree === null || field?.kind !== 'value' || field.target === undefined) return undefined;
  const target = collections[field.target];
  const isShort = ([name, inner]: [string, FieldTree | null]) => {
    const found = target.fields.get(name);
    if (inner !== null || found?.kind !== 'value' || found.type === 'json') return false;
    return found.type !== 'text' || (found.maxLength ?? Number.POSITIVE_INFINITY) <= maxInlineLength;
  };
  return subtree.size > 0 && [...subtree].every(isShort) ? target : undefined;
}

/** The fields whose values may be long: those without a maximum length. */
function largeFields({ fields }: Collection, tree: FieldTree): [string, ValueField][] {
  return [...tree.keys()].flatMap((name) => {
    const field = fields.get(name);
    return field?.kind === 'value' && isLarge(field) ? [[name, field] as [string, ValueField]] : [];
  });
}

const isLarge = ({ type, maxLength, concealed }: ValueField) =>
  type === 'json' || (type === 'text' && maxLength === undefined && !concealed);

/**
 * Size of a value as text, in bytes. A JSON value with a short stored form is not converted, although compression may hide a
 * longer text.
 */
function sizeOf(compiler: Compiler, row: Row, name: string, { type }: ValueField): SQL {
  const column = compiler.column(row, name);
  return type === 'json'
    ? sql`(case when pg_column_size(${column}) > 500 then octet_length(${column}::text) end)`
    : sql`octet_length(${column})`;
}

/** Whether some values of these rows were too long, so that a placeholder was read instead. */
export function hasOversizedValue(
  collection: Collection,
  fields: FieldTree,
  found: readonly Record<string, unknown>[],
): boolean {
  const names = largeFields(collection, fields).map(([name]) => name);
  return names.length > 0 && found.some((item) => names.some((name) => item[name] === largeValue));
}

/** Total size of all long values of a row, in bytes. */
export function rowSize(compiler: Compiler, row: Row, fields: FieldTree): SQL {
  const sizes = largeFields(row.collection, fields).map(
    ([name, field]) => sql`coalesce(${compiler.masked(row, name, sizeOf(compiler, row, name, field))}, 0)`,
  );
  return sizes.length === 0 ? sql`0` : sql.join(sizes, sql` + `);
}

/**
 * The value that is returned for a field: the field's own value, the related item if it is read together with the row, or the
 * keys of the related items.
 */
export function output(compiler: Compiler, row: Row, name: string, subtree: FieldTree | null, maxBytes?: number): SQL {
  const field = row.collection.fields.get(name);
  if (field?.kind === 'list') return listOutput(compiler, row, name, field, subtree !== null);
  if (field && maxBytes !== undefined && isLarge(field)) {
    const isLong = sql`${sizeOf(compiler, row, name, field)} > ${sql.raw(String(maxBytes))}`;
    const instead = sql.raw(field.type === 'json' ? `'"${largeValue}"'::jsonb` : `'${largeValue}'`);
    return compiler.masked(row, name, sql`case when ${isLong} then ${instead} else ${compiler.column(row, name)} end`);
  }
  const value = compiler.field(row, name);
  const target = inlineTarget(field, subtree);
  if (target && subtree) return inlineItem(compiler, compiler.row(target), subtree, value);
  return field?.type === 'timestamp' ? iso(value) : value;
}

/** A related item as JSON; null if the caller may not read it. */
function inlineItem(compiler: Compiler, row: Row, fields: FieldTree, key: SQL): SQL {
  const pairs = [...fields.keys()].map((name) => sql`${sql.raw(`'${name}'`)}, ${output(compiler, row, name, null)}`);
  const item = sql`json_build_object(${sql.join(pairs, sql`, `)})`;
  return sql`(select ${item} from ${compiler.source(row)} where ${compiler.hasKey(row, key)} and ${compiler.visible(row)})`;
}

/** @param isFollowed whether to return the items rather than their keys */
function listOutput(compiler: Compiler, row: Row, name: string, list: ListField, isFollowed: boolean): SQL {
  const own = compiler.column(row, 'id');
  if (list.held && 'table' in list.link && !isFollowed) return compiler.masked(row, name, heldKeys(list.link, own));
  const items = compiler.row(collections[list.target]);
  const { from, owner } = compiler.linked(list, items);
  const id = compiler.column(items, 'id');
  const visible = compiler.visible(items);
  // Unless the links are data of this item, a key is returned only if the caller may read it on the related item.
  const key = compiler.field(items, 'id');
  const seen = isFollowed ? visible : sql`${visible} and ${key} is not null`;
  const found = sql`(select coalesce(json_agg(item), '[]') from (select ${id} as item from ${from} where ${owner} = ${own} and ${seen} order by ${id} limit ${sql.raw(String(maxNested))}) nested)`;
  return compiler.masked(row, name, found);
}

/** The keys that an item holds in a table of links. Most items hold none, and checking that first costs less than sorting. */
function heldKeys({ table, own, other }: LinkTable, item: SQL): SQL {
  const from = sql`from ${table} where ${sql.identifier(own)} = ${item}`;
  const keys = sql`array(select ${sql.identifier(other)} ${from} order by 1 limit ${sql.raw(String(maxNested))})`;
  return sql`case when (select true ${from} limit 1) then array_to_json(${keys}) else '[]' end`;
}

/** The same for callers who may read the whole item, with these fields. */
export function itemAsJson(collection: Collection, fields: readonly string[], key: SQL): SQL {
  const compiler = createCompiler(seesAll);
  return inlineItem(compiler, compiler.row(collection), new Map(fields.map((name) => [name, null])), key);
}

export const iso = (moment: SQL) => sql`to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
