import { type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { isAmong } from '../../among.js';
import type { Executor } from '../../client.js';
import { inLowerCase } from '../../lower-case.js';
import type { Collection, ListField } from '../../query-language/collections.js';
import { arrayOf, createCompiler } from '../../query-language/compile.js';
import type { AccessView, Filter } from '../../query-language/filter.js';
import { rows } from '../../statements.js';

export type Key = string | number;

/** Values by column. */
export type Columns = Record<string, unknown>;

const identifiers = (names: readonly string[], prefix?: string): SQL =>
  sql.join(
    names.map((name) => (prefix ? sql`${sql.raw(prefix)}.${sql.identifier(name)}` : sql.identifier(name))),
    sql`, `,
  );

/** Records as rows of a table, in a single parameter. The database parses each value by its column's type. */
const recordset = (collection: Collection, records: readonly Columns[]): SQL =>
  sql`jsonb_populate_recordset(null::${collection.table}, ${JSON.stringify(records)}::jsonb)`;

/** The columns that are stored beside the table of a collection. */
const columnsBeside = ({ fields }: Collection): ReadonlySet<string> =>
  new Set([...fields.values()].flatMap((field) => (field.kind === 'value' && field.beside ? [field.column] : [])));

/** Inserts records that all have the same columns, and returns their keys in the same order. */
export async function insertRecords(
  executor: Executor,
  collection: Collection,
  records: readonly Columns[],
): Promise<Key[]> {
  const beside = columnsBeside(collection);
  const columns = Object.keys(records[0] ?? {});
  const own = columns.filter((column) => !beside.has(column));
  const inserted = await rows<{ id: Key }>(
    executor,
    sql`insert into ${collection.table} (${identifiers(own)})
      select ${identifiers(own, 'r')} from ${recordset(collection, records)} r returning id`,
  );
  const keys = inserted.map(({ id }) => id);
  if (own.length < columns.length) {
    // A trigger has inserted the rows beside them.
    const others = records.map((record, index) => ({ ...record, id: keys[index] as Key }));
    await updateBeside(executor, collection, others);
  }
  return keys;
}

/** Updates records, each in the columns that it contains; `id` identifies the row. Uses one statement for any combination of columns. */
export async function updateRecords(
  executor: Executor,
  collection: Collection,
  records: readonly (Columns & { id: Key })[],
): Promise<void> {
  const beside = columnsBeside(collection);
  await updateTable(
    executor,
    collection,
    { table: collection.table, key: 'id' },
    records,
    (column) => !beside.has(column),
  );
  await updateBeside(executor, collection, records);
}

async function updateBeside(
  executor: Executor,
  collection: Collection,
  records: readonly (Columns & { id: Key })[],
): Promise<void> {
  const beside = columnsBeside(collection);
  if (!collection.beside) return;
  await updateTable(executor, collection, collection.beside, records, (column) => beside.has(column));
}

async function updateTable(
  executor: Executor,
  { keyType }: Collection,
  { table, key }: { table: PgTable; key: string },
  records: readonly (Columns & { id: Key })[],
  isIncluded: (column: string) => boolean,
): Promise<void> {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))].filter(
    (column) => column !== 'id' && isIncluded(column),
  );
  if (columns.length === 0) return;
  const assignments = columns.map((column) => {
    const name = sql.identifier(column);
    const isGivenByAll = records.every((record) => Object.hasOwn(record, column));
    return isGivenByAll
      ? sql`${name} = r.${name}`
      : sql`${name} = case when given.record ? ${column} then r.${name} else t.${name} end`;
  });
  await rows(
    executor,
    sql`update ${table} t set ${sql.join(assignments, sql`, `)}
      from jsonb_array_elements(${JSON.stringify(records)}::jsonb) as given(record)
      cross join lateral jsonb_populate_record(null::${table}, given.record) r
      where t.${sql.identifier(key)} = (given.record ->> 'id')::${sql.raw(keyType)}`,
  );
}

export async function deleteRecords(executor: Executor, collection: Collection, keys: readonly Key[]): Promise<void> {
  await rows(executor, sql`delete from ${collection.table} where ${isAmong(sql`id`, keys, collection.keyType)}`);
}

/** Locks the rows with these keys until the transaction ends, always in the same order, and returns the keys that exist. */
export async function lockRecords(executor: Executor, collection: Collection, keys: readonly Key[]): Promise<Key[]> {
  const locked = await rows<{ id: Key }>(
    executor,
    sql`select id from ${collection.table} where ${isAmong(sql`id`, keys, collection.keyType)} order by id for update`,
  );
  return locked.map(({ id }) => id);
}

/** Which of these keys belong to rows that match at least one of the filters, as seen through `view`. */
export async function matchingKeys(
  executor: Executor,
  collection: Collection,
  keys: readonly Key[],
  filters: readonly Filter[],
  view: AccessView,
): Promise<Set<Key>> {
  const compiler = createCompiler(view);
  const row = compiler.row(collection);
  const matches = filters.map((filter) => compiler.matches(row, filter));
  const id = compiler.column(row, 'id');
  const found = await rows<{ id: Key }>(
    executor,
    sql`select ${id} as id from ${compiler.source(row)}
      where ${isAmong(id, keys, collection.keyType)} and (${matches.length === 0 ? sql`false` : sql.join(matches, sql` or `)})`,
  );
  return new Set(found.map(({ id }) => id));
}

/** Which of these keys exist. */
export async function existingKeys(
  executor: Executor,
  collection: Collection,
  keys: readonly Key[],
): Promise<Set<Key>> {
  if (keys.length === 0) return new Set();
  const found = await rows<{ id: Key }>(
    executor,
    sql`select id from ${collection.table} where ${isAmong(sql`id`, keys, collection.keyType)}`,
  );
  return new Set(found.map(({ id }) => id));
}

/**
 * The rows that have one of these values in a column, compared the way its unique index compares. `value` is in the compared
 * form, `stored` is exactly as stored.
 */
export async function rowsWithValues(
  executor: Executor,
  collection: Collection,
  column: string,
  values: readonly string[],
  letterCase: 'exact' | 'any',
): Promise<{ id: Key; value: string; stored: string }[]> {
  const stored = sql.identifier(column);
  const name = letterCase === 'any' ? inLowerCase(stored) : stored;
  if (values.length === 0) return [];
  const wanted = letterCase === 'any' ? values.map((value) => value.toLowerCase()) : values;
  return rows<{ id: Key; value: string; stored: string }>(
    executor,
    sql`select id, ${name} as value, ${stored} as stored from ${collection.table}
      where ${name} = any(${arrayOf({ type: 'text' }, wanted)})`,
  );
}

/** Replaces the links of each item with the list given for it. */
export async function replaceLinks(
  executor: Executor,
  { link }: ListField,
  links: ReadonlyMap<Key, readonly Key[]>,
): Promise<void> {
  if (!('table' in link) || links.size === 0) return;
  const own = sql.identifier(link.own);
  const other = sql.identifier(link.other);
  await rows(executor, sql`delete from ${link.table} where ${isAmong(own, [...links.keys()])}`);
  const pairs = [...links].flatMap(([owner, others]) =>
    [...new Set(others)].map((key) => ({ [link.own]: owner, [link.other]: key })),
  );
  if (pairs.length === 0) return;
  await rows(
    executor,
    sql`insert into ${link.table} (${own}, ${other})
      select r.${own}, r.${other} from jsonb_populate_recordset(null::${link.table}, ${JSON.stringify(pairs)}::jsonb) r`,
  );
}
