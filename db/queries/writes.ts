import { type SQL, sql } from 'drizzle-orm';
import { inChunks } from '../chunks.js';
import { type Executor, rows } from '../client.js';
import { inLowerCase } from '../lower-case.js';
import type { AccessView } from '../query-language/access-view.js';
import type { Collection, ListField } from '../query-language/collections.js';
import { createCompiler } from '../query-language/compile.js';
import type { Filter } from '../query-language/filter.js';

export type Key = string | number;

/** Values by column. */
export type Columns = Record<string, unknown>;

const identifiers = (names: readonly string[], prefix?: string): SQL =>
  sql.join(
    names.map((name) => (prefix ? sql`${sql.raw(prefix)}.${sql.identifier(name)}` : sql.identifier(name))),
    sql`, `,
  );

/** Records as rows of a table: one parameter, however many there are, and the database reads each value by its column's type. */
const recordset = (collection: Collection, records: readonly Columns[]): SQL =>
  sql`jsonb_populate_recordset(null::${collection.table}, ${JSON.stringify(records)}::jsonb)`;

const keyList = (keys: readonly Key[]): SQL =>
  sql.join(
    keys.map((key) => sql`${key}`),
    sql`, `,
  );

/** Inserts records that all have the same columns, and gives their keys in the same order. */
export async function insertRecords(
  executor: Executor,
  collection: Collection,
  records: readonly Columns[],
): Promise<Key[]> {
  const columns = Object.keys(records[0] ?? {});
  const inserted = await inChunks(records, (chunk) =>
    rows<{ id: Key }>(
      executor,
      sql`insert into ${collection.table} (${identifiers(columns)})
        select ${identifiers(columns, 'r')} from ${recordset(collection, chunk)} r returning id`,
    ),
  );
  return inserted.map(({ id }) => id);
}

/** Updates records that all have the same columns; each names its row by `id`. */
export async function updateRecords(
  executor: Executor,
  collection: Collection,
  records: readonly (Columns & { id: Key })[],
): Promise<void> {
  const columns = Object.keys(records[0] ?? {}).filter((column) => column !== 'id');
  if (columns.length === 0) return;
  const assignments = columns.map((column) => sql`${sql.identifier(column)} = r.${sql.identifier(column)}`);
  await inChunks(records, (chunk) =>
    rows(
      executor,
      sql`update ${collection.table} t set ${sql.join(assignments, sql`, `)} from ${recordset(collection, chunk)} r where t.id = r.id`,
    ),
  );
}

export async function deleteRecords(executor: Executor, collection: Collection, keys: readonly Key[]): Promise<void> {
  await inChunks(keys, (chunk) => rows(executor, sql`delete from ${collection.table} where id in (${keyList(chunk)})`));
}

/** Locks the rows with these keys until the transaction ends, always in the same order, and gives those that exist. */
export async function lockRecords(executor: Executor, collection: Collection, keys: readonly Key[]): Promise<Key[]> {
  const sorted = keys.toSorted((a, b) => (a < b ? -1 : 1));
  const locked = await inChunks(sorted, (chunk) =>
    rows<{ id: Key }>(
      executor,
      sql`select id from ${collection.table} where id in (${keyList(chunk)}) order by id for update`,
    ),
  );
  return locked.map(({ id }) => id);
}

/** Which of these keys belong to rows that match at least one of the filters, judged by all there is. */
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
  const found = await inChunks(keys, (chunk) =>
    rows<{ id: Key }>(
      executor,
      sql`select ${compiler.column(row, 'id')} as id from ${compiler.source(row)}
        where ${compiler.column(row, 'id')} in (${keyList(chunk)}) and (${matches.length === 0 ? sql`false` : sql.join(matches, sql` or `)})`,
    ),
  );
  return new Set(found.map(({ id }) => id));
}

/** Which of these keys exist. */
export async function existingKeys(
  executor: Executor,
  collection: Collection,
  keys: readonly Key[],
): Promise<Set<Key>> {
  const found = await inChunks(keys, (chunk) =>
    rows<{ id: Key }>(executor, sql`select id from ${collection.table} where id in (${keyList(chunk)})`),
  );
  return new Set(found.map(({ id }) => id));
}

/** The rows in which one of these values stands in a column, compared as the unique index on it compares; `stored` is as it stands there. */
export async function rowsWithValues(
  executor: Executor,
  collection: Collection,
  column: string,
  values: readonly string[],
  letterCase: 'exact' | 'any',
): Promise<{ id: Key; value: string; stored: string }[]> {
  const stored = sql.identifier(column);
  const name = letterCase === 'any' ? inLowerCase(stored) : stored;
  return inChunks(letterCase === 'any' ? values.map((value) => value.toLowerCase()) : values, (chunk) =>
    rows<{ id: Key; value: string; stored: string }>(
      executor,
      sql`select id, ${name} as value, ${stored} as stored from ${collection.table} where ${name} in (${keyList(chunk)})`,
    ),
  );
}

/** Replaces the links that items hold, of each to the list that is given for it. */
export async function replaceLinks(
  executor: Executor,
  { link }: ListField,
  links: ReadonlyMap<Key, readonly Key[]>,
): Promise<void> {
  if (!('table' in link) || links.size === 0) return;
  const own = sql.identifier(link.own);
  const other = sql.identifier(link.other);
  await inChunks([...links.keys()], (chunk) =>
    rows(executor, sql`delete from ${link.table} where ${own} in (${keyList(chunk)})`),
  );
  const pairs = [...links].flatMap(([owner, others]) =>
    [...new Set(others)].map((key) => ({ [link.own]: owner, [link.other]: key })),
  );
  await inChunks(pairs, (chunk) =>
    rows(
      executor,
      sql`insert into ${link.table} (${own}, ${other}) select r.${own}, r.${other} from jsonb_populate_recordset(null::${link.table}, ${JSON.stringify(chunk)}::jsonb) r`,
    ),
  );
}
