import { setImmediate } from 'node:timers/promises';
import { type SQL, sql } from 'drizzle-orm';
import { uuidPattern } from '../../../schemas/common.js';
import type { Executor } from '../../client.js';
import { type Collection, collections, type ValueField } from '../../query-language/collections.js';
import { arrayOf, type Compiler, createCompiler, type Row, typeName } from '../../query-language/compile.js';
import type { FieldTree } from '../../query-language/fields.js';
import { type AccessView, coverAllItems } from '../../query-language/filter.js';
import { invalidQuery } from '../../query-language/invalid-query.js';
import type { Aggregate, Query, Selection, SortKey } from '../../query-language/query.js';
import { contains, emailContains } from '../../query-language/search-text.js';
import { rows } from '../../statements.js';
import { countAllUsers } from '../users/user-counts.js';
import {
  compiledColumns,
  hasOversizedValue,
  idColumn,
  inlineTarget,
  iso,
  output,
  rowSize,
  seesEvery,
  selectColumns,
} from './item-columns.js';

export type Item = Record<string, unknown>;
type Key = string | number;

/** The position of a row in a sorted list: the values of the sort keys, as text, and the key of the row. */
export interface Position {
  values: readonly (string | null)[];
  id: Key;
}

/** What to read from a list. */
export interface ListQuery
  extends Pick<Query, 'fields' | 'filter' | 'search' | 'keys' | 'among' | 'sort' | 'limit' | 'offset'> {
  /** Read only rows after this one. */
  after?: Position | null;
  /** Whether each item includes its position, which {@link detachPosition} removes. */
  hasPositions?: boolean;
}

/** Limits on what may be read for one response. */
export interface ReadLimits {
  /** Maximum size of the response as JSON, in bytes. */
  bytes: number;
  /** Maximum number of items in lists inside other items, over all rows; null: limited only by the size of the response. */
  listed: number | null;
  /** What was already read for the same response, when it is read in parts. */
  soFar?: { listed: number; related?: RelatedItems | undefined };
}

/** Items behind relations. Later parts of the same response do not read them again. */
interface RelatedItems {
  /** By key, for each place in the fields; undefined for items that the caller may not read. */
  byPlace: Map<FieldTree, Map<Key, Related | undefined>>;
  bytes: number;
}

/** Bytes of related items that are kept for the next part. */
const maxRelatedBytes = 4_000_000;

/** Maximum number of items that are read in one statement. */
const partSize = 500;

/** Number of items of a long list to read in one statement: fewer when each may contain many items. */
export const partSizeOf = ({ fields }: Collection, tree: FieldTree): number =>
  [...tree].some(([name, subtree]) => subtree !== null && (fields.get(name)?.kind === 'list' || hasLists(subtree)))
    ? 100
    : partSize;

/** Whether there may be lists behind a relation. */
const hasLists = (tree: FieldTree): boolean =>
  [...tree.values()].some((subtree) => subtree !== null) || tree.has('users');

export const tooLarge = ({ bytes }: ReadLimits) =>
  invalidQuery(
    `The response would be larger than ${bytes} bytes (MAX_RESPONSE_SIZE). Request fewer rows or fields, or page with the cursor.`,
  );

/** The state of one query while its items are read. */
interface Reading {
  executor: Executor;
  access: AccessView;
  limits: ReadLimits;
  listedBefore: number;
  /** The related items read so far. */
  related: RelatedItems;
  /** Bytes of related items that have been read. */
  bytes: number;
}

/** A related item. */
interface Related {
  item: Item;
  weight: Weight;
}

/** What an item and everything inside it add to the response, however often it is read. */
interface Weight {
  bytes: number;
  listed: number;
}

/** The largest limit that is written into a statement: that of a usual page, and one more row to find out whether there is another page. */
const maxWritten = 101;

/**
 * Which of the rows are read. With parameters, PostgreSQL plans even a prepared statement again for each execution, because it cannot know
 * how many rows will be read. For a plain list, this is a quarter of its work, so the number is written into the text.
 */
function sliceOf({ limit, offset, ...query }: ListQuery, includesAll: boolean): SQL {
  const isPlain = includesAll && !query.filter && query.search === null && !query.keys && !query.among && !query.after;
  if (isPlain && offset === 0 && limit !== null && limit <= maxWritten) return sql.raw(`limit ${limit}`);
  return sql`${limit === null ? sql`` : sql`limit ${limit}::bigint`} offset ${offset}::bigint`;
}

/**
 * Reads the items that a query requests; without fields, their keys as `id`. One statement reads the rows. For each relation that is
 * followed, one more statement reads the related items, once for each key, however many rows have that key. Short related items are
 * read together with the rows.
 * @throws {ApiError} INVALID_QUERY when the response would become too large, before it is in memory
 */
export async function readItems(
  executor: Executor,
  collection: Collection,
  query: ListQuery,
  access: AccessView,
  limits: ReadLimits,
): Promise<Item[]> {
  const { soFar = { listed: 0 } } = limits;
  soFar.related ??= { byPlace: new Map(), bytes: 0 };
  const { listed: listedBefore, related } = soFar;
  const reading = { executor, access, limits, listedBefore, related, bytes: 0 };
  const maxRows = query.keys?.length ?? query.limit ?? Number.POSITIVE_INFINITY;
  // Many rows may match, and be sorted, although few are read.
  const readsBesideLast = query.filter !== null || query.search !== null;
  const found = await readRows(reading, collection, query.fields, maxRows, { readsBesideLast }, (compiler, row) => {
    const { after = null, hasPositions = false } = query;
    const sorted = query.sort.map(({ path, descending }) => ({
      path,
      descending,
      value: valueAt(compiler, row, path),
    }));
    const order = sorted.flatMap((key, index) =>
      orderOf(compiler, row, key, index === sorted.length - 1 && !query.keys),
    );
    // Items that were requested by key are returned in the order of the keys.
    if (query.keys) order.push(sql`array_position(${keyList(collection, query.keys)}, ${compiler.column(row, 'id')})`);
    order.push(compiler.column(row, 'id'));
    const texts = [...sorted.map(({ value }) => sql`${value}::text`), sql`${compiler.column(row, 'id')}::text`];
    const position = hasPositions
      ? sql`, json_build_array(${sql.join(texts, sql`, `)}) as ${sql.identifier(positionColumn)}`
      : sql``;
    const following = after === null ? sql`` : sql`and ${isAfter(compiler, row, sorted, after)}`;
    return sql`${position} from ${compiler.source(row)}
      where ${selected(compiler, row, query)} ${following} order by ${sql.join(order, sql`, `)}
      ${sliceOf(query, coverAllItems(access(collection.name)))}`;
  });
  if (followsRelations(query.fields)) {
    const weights = await follow(reading, collection, query.fields, found);
    let bytes = 0;
    for (const weight of weights) {
      bytes += weight.bytes;
      soFar.listed += weight.listed;
    }
    if (bytes > limits.bytes) throw tooLarge(limits);
    related.bytes += reading.bytes;
    if (related.bytes > maxRelatedBytes) soFar.related = undefined;
  }
  return found;
}

/**
 * The `order by` terms for one sort key. If the value is indexed approximately, they begin with the columns of that index. The order
 * is the same, but the database then sorts only rows with the same approximate value, and stops after the page.
 * @param isLast whether only the key of the row follows
 */
function orderOf(
  compiler: Compiler,
  row: Row,
  { path, descending, value }: SortKey & { value: SQL },
  isLast: boolean,
): SQL[] {
  const direction = descending ? sql`desc` : sql`asc`;
  const exact = sql`${value} ${direction}`;
  const coarse = coarseAt(compiler, row, path);
  if (!coarse) return [exact];
  return [sql`${coarse.value} ${direction}`, ...(isLast ? [coarse.keyIfNull] : []), exact];
}

const coarseAt = (compiler: Compiler, row: Row, [name = '', ...rest]: readonly string[]) =>
  rest.length === 0 && row.collection.fields.get(name)?.kind === 'value' ? compiler.coarse(row, name) : undefined;

const positionColumn = ' position';

/** The key of an item that was read with its position. */
export const keyOf = (item: Item): string => String((item[positionColumn] as (string | null)[]).at(-1));

/** Removes the position from an item. @returns the position */
export function detachPosition(item: Item): Position {
  const texts = item[positionColumn] as (string | null)[];
  delete item[positionColumn];
  return { values: texts.slice(0, -1), id: texts.at(-1) ?? '' };
}

/** Whether a row comes after a position. Nulls are last, or first when the order is descending. */
function isAfter(
  compiler: Compiler,
  row: Row,
  sorted: readonly (SortKey & { value: SQL })[],
  { values, id }: Position,
): SQL {
  const type = typeName(row.collection.keyType);
  return sorted.reduceRight<SQL>(
    (rest, { value, path, descending }, index) => {
      const text = values[index] ?? null;
      if (text === null)
        return descending ? sql`(${value} is not null or ${rest})` : sql`(${value} is null and ${rest})`;
      const last = sql`${text}::text::${typeName(typeAt(row.collection, path))}`;
      // The first condition follows from the second. It lets the database use an index.
      const coarse = coarseAt(compiler, row, path);
      const [indexed, bound] = coarse ? [coarse.value, coarse.round(last)] : [value, last];
      if (descending) return sql`(${indexed} <= ${bound} and (${value} < ${last} or (${value} = ${last} and ${rest})))`;
      const greater = sql`(${indexed} >= ${bound} and (${value} > ${last} or (${value} = ${last} and ${rest})))`;
      return isNeverNull(compiler, row, path, value) ? greater : sql`(${greater} or ${value} is null)`;
    },
    sql`${compiler.column(row, 'id')} > ${id}::text::${type}`,
  );
}

function isNeverNull(compiler: Compiler, row: Row, path: readonly string[], value: SQL): boolean {
  const [name = ''] = path;
  const field = row.collection.fields.get(name);
  const isRequired = path.length === 1 && field?.kind === 'value' && field.required === true;
  return isRequired && compiler.masked(row, name, value) === value;
}

/** The type of a field that is reached through relations. */
function typeAt(collection: Collection, [name = '', ...rest]: readonly string[]): ValueField['type'] {
  const field = collection.fields.get(name);
  if (rest.length > 0 && field?.target !== undefined) return typeAt(collections[field.target], rest);
  return field?.kind === 'value' ? field.type : 'text';
}

/** Whether the fields follow any relation. */
const followsRelations = (tree: FieldTree): boolean => [...tree.values()].some((subtree) => subtree !== null);

/**
 * Reads rows in one statement. If some of their values are long, checks the total size before it reads these values.
 * @param most upper limit for the number of rows
 * @param rest the statement, starting at `from`
 */
async function readRows(
  { executor, access, limits }: Reading,
  collection: Collection,
  fields: FieldTree,
  most: number,
  { readsBesideLast = false, withId = false }: { readsBesideLast?: boolean; withId?: boolean },
  rest: (compiler: Compiler, row: Row) => SQL,
): Promise<Item[]> {
  const select = (maxBytes?: number) => {
    const compiler = createCompiler(access);
    const row = compiler.row(collection);
    // Written first, because it may need the table beside that of the collection, which is joined then.
    const source = rest(compiler, row);
    row.readsBesideLast = readsBesideLast && row.beside === undefined;
    const options = { withId, ...(maxBytes === undefined ? {} : { maxBytes }) };
    const columns = seesEvery(access, collection, fields)
      ? compiledColumns(compiler, row, fields, options)
      : selectColumns(compiler, row, fields, options);
    return sql`select ${columns} ${source}`;
  };
  // No collection has more than five long fields. There are only two size limits, so that many queries share a statement.
  const maxBytes = Math.floor(limits.bytes / 5 / (most <= 100 ? 100 : 1_000));
  const found = await rows<Item>(executor, select(maxBytes));
  if (!hasOversizedValue(collection, fields, found)) return withoutHiddenKeys(fields, found);

  found.length = 0;
  const compiler = createCompiler(access);
  const row = compiler.row(collection);
  const [sum] = await rows<{ bytes: number }>(
    executor,
    sql`select coalesce(sum(size), 0)::int8 as bytes from (select ${rowSize(compiler, row, fields)} as size ${rest(compiler, row)}) page`,
  );
  if ((sum?.bytes ?? 0) > limits.bytes) throw tooLarge(limits);
  return withoutHiddenKeys(fields, await rows<Item>(executor, select()));
}

/** Removes the keys that permission rules hide. They are left out rather than set to null, so that an `id` is always a key. */
function withoutHiddenKeys(fields: FieldTree, found: Item[]): Item[] {
  for (const [name, subtree] of fields) {
    if (name === 'id') for (const item of found) if (item.id === null) delete item.id;
    if (!subtree?.has('id')) continue;
    for (const item of found) {
      const related = item[name] as Item | null;
      if (related?.id === null) delete related.id;
    }
  }
  return found;
}

/** Replaces the keys in relations with the items. @returns what that adds to each of the rows */
async function follow(
  reading: Reading,
  collection: Collection,
  tree: FieldTree,
  found: readonly Item[],
): Promise<Weight[]> {
  const weights = found.map(() => ({ bytes: 0, listed: 0 }));
  const each = (work: (item: Item, weight: Weight) => void) => {
    for (const [index, item] of found.entries()) work(item, weights[index] as Weight);
  };
  for (const [name, subtree] of tree) {
    const field = collection.fields.get(name);
    const keysOf = (item: Item) => (item[name] ?? []) as readonly Key[];
    // If only keys are requested, or if the item is short, the row already contains the result.
    if (subtree === null || field?.target === undefined || inlineTarget(field, subtree)) continue;
    if (field.kind === 'list') {
      each((item, weight) => {
        weight.listed += keysOf(item).length;
      });
      checkListed(reading, weights);
    }
    const keys = new Set<Key>();
    each((item) => {
      if (field.kind === 'list') for (const key of keysOf(item)) keys.add(key);
      else if (item[name] !== null) keys.add(item[name] as Key);
    });
    const related = await readByKeys(reading, collections[field.target], subtree, [...keys]);
    const take = (key: Key, weight: Weight): Item[] => {
      const one = related.get(key);
      if (!one) return [];
      weight.bytes += one.weight.bytes;
      weight.listed += one.weight.listed;
      return [one.item];
    };
    each((item, weight) => {
      if (field.kind !== 'list') item[name] = take(item[name] as Key, weight)[0] ?? null;
      else if (item[name] !== null) item[name] = keysOf(item).flatMap((key) => take(key, weight));
    });
    checkListed(reading, weights);
  }
  return weights;
}

function checkListed({ limits, listedBefore }: Reading, weights: readonly Weight[]): void {
  if (limits.listed === null) return;
  let listed = listedBefore;
  for (const weight of weights) listed += weight.listed;
  if (listed > limits.listed) {
    throw invalidQuery(
      `A response can have at most ${limits.listed} nested items. Request fewer rows or fields, or page with the cursor.`,
    );
  }
}

/** Reads the items with these keys; those that the caller may not read are undefined. */
async function readByKeys(
  reading: Reading,
  collection: Collection,
  fields: FieldTree,
  keys: readonly Key[],
): Promise<ReadonlyMap<Key, Related | undefined>> {
  const { byPlace } = reading.related;
  const found = byPlace.get(fields) ?? new Map<Key, Related | undefined>();
  byPlace.set(fields, found);
  const missing = keys.filter((key) => !found.has(key));
  for (let start = 0; start < missing.length; start += partSize) {
    if (start > 0) await setImmediate();
    const part = missing.slice(start, start + partSize);
    const items = await readRows(
      reading,
      collection,
      fields,
      part.length,
      { withId: true },
      (compiler, row) =>
        sql`from ${compiler.source(row)} where ${compiler.column(row, 'id')} = any(${keyList(collection, part)}) and ${compiler.visible(row)}`,
    );
    for (const key of part) found.set(key, undefined);
    const ids = items.map((item) => {
      const id = item[idColumn] as Key;
      delete item[idColumn];
      return id;
    });
    const own = items.map((item) => JSON.stringify(item).length);
    for (const bytes of own) reading.bytes += bytes;
    if (reading.bytes > reading.limits.bytes) throw tooLarge(reading.limits);
    const inside = await follow(reading, collection, fields, items);
    items.forEach((item, index) => {
      const { bytes = 0, listed = 0 } = inside[index] ?? {};
      found.set(ids[index] as Key, { item, weight: { bytes: bytes + (own[index] ?? 0), listed } });
    });
  }
  return found;
}

/** The number of items that match the selection and that the caller may read. */
export async function countItems(
  executor: Executor,
  collection: Collection,
  selection: Selection,
  access: AccessView,
): Promise<number> {
  const { filter, search, keys, among } = selection;
  if (among && filter === null && search === null) return among.length;
  const isAll = filter === null && search === null && !keys && coverAllItems(access(collection.name));
  if (isAll && collection === collections.users) return countAllUsers(executor);
  const compiler = createCompiler(access);
  const row = compiler.row(collection);
  const [found] = await rows<{ count: number }>(
    executor,
    sql`select count(*) as count from ${compiler.source(row)} where ${selected(compiler, row, selection)}`,
  );
  return found?.count ?? 0;
}

/** One row for each group, such as `{"status": "active", "count": 6}`; a single row when there are no groups. */
export async function aggregateItems(
  executor: Executor,
  collection: Collection,
  query: Pick<Query, 'filter' | 'search' | 'among' | 'sort' | 'limit' | 'offset'> & { aggregate: Aggregate },
  access: AccessView,
  limits: ReadLimits,
): Promise<Item[]> {
  const compiler = createCompiler(access);
  const row = compiler.row(collection);
  const { groupBy, columns } = query.aggregate;
  const groups = groupBy.map((name) => ({ name, value: output(compiler, row, name, null) }));
  const aggregated = columns.map(({ function: name, field }) => {
    if (field === null) return sql`count(*)`;
    const value = valueAt(compiler, row, [field]);
    switch (name) {
      case 'count':
        return sql`count(${value})`;
      case 'countDistinct':
        return sql`count(distinct ${value})`;
      default: {
        const isTimestamp = collection.fields.get(field)?.kind === 'value' && typeOf(collection, field) === 'timestamp';
        const extreme = name === 'min' ? sql`min(${value})` : sql`max(${value})`;
        return isTimestamp ? iso(extreme) : extreme;
      }
    }
  });
  const named = [...groups.map(({ value }) => value), ...aggregated].map(
    (value, index) => sql`${value} as ${sql.identifier(`c${index}`)}`,
  );
  const positions = groups.map((_, index) => sql.raw(String(index + 1)));
  const grouping =
    groups.length === 0
      ? sql``
      : sql`group by ${sql.join(positions, sql`, `)} order by ${sql.join(positions, sql`, `)}`;
  // Do not read more groups than fit into the response.
  const most = Math.min(query.limit ?? Number.POSITIVE_INFINITY, Math.ceil(limits.bytes / (10 * named.length)));
  const found = await rows<Record<string, unknown>>(
    executor,
    sql`select ${sql.join(named, sql`, `)} from ${compiler.source(row)} where ${selected(compiler, row, query)} ${grouping}
      limit ${most}::bigint offset ${query.offset}::bigint`,
  );
  if (found.length === most && most !== query.limit) throw tooLarge(limits);
  // The number of items is returned directly as `count`, unless values are counted too.
  const countsValues = columns.some(({ function: name, field }) => name === 'count' && field !== null);
  return found.map((record) => {
    const item: Item = {};
    groups.forEach(({ name }, index) => {
      const value = record[`c${index}`];
      if (name !== 'id' || value !== null) item[name] = value;
    });
    columns.forEach(({ function: name, field }, index) => {
      const value = record[`c${groups.length + index}`];
      if (field === null && !countsValues) item[name] = value;
      else item[name] = { ...(item[name] as Item | undefined), [field ?? '*']: value };
    });
    return item;
  });
}

/** Keys of a collection's type, as one parameter. */
const keyList = ({ keyType }: Collection, keys: readonly (string | number)[]): SQL => arrayOf({ type: keyType }, keys);

/** Whether a row matches a selection and the caller may read it. */
export function selected(compiler: Compiler, row: Row, { filter, search, keys, among }: Selection): SQL {
  const conditions = [compiler.visible(row)];
  if (keys) conditions.push(sql`${compiler.column(row, 'id')} = any(${keyList(row.collection, keys)})`);
  if (among) conditions.push(sql`${compiler.column(row, 'id')} = any(${keyList(row.collection, among)})`);
  if (filter) conditions.push(compiler.matches(row, filter));
  if (search !== null) conditions.push(searched(compiler, row, search));
  return sql.join(conditions, sql` and `);
}

/** Whether one of the readable texts contains a term, in any letter case. A UUID is also compared with the keys. */
function searched(compiler: Compiler, row: Row, term: string): SQL {
  const isUuid = uuidPattern.test(term);
  const matching = (name: string): SQL[] => {
    const field = row.collection.fields.get(name);
    if (field?.kind !== 'value' || field.concealed) return [];
    if (field.whole) return isUuid ? [sql`${compiler.column(row, name)} = ${term.toLowerCase()}`] : [];
    if (field.type === 'uuid') return isUuid ? [sql`${compiler.column(row, name)} = ${term}::uuid`] : [];
    if (field.type !== 'text') return [];
    const isUserEmail = row.collection.name === 'users' && name === 'email';
    return [(isUserEmail ? emailContains : contains)(compiler.column(row, name), term)];
  };
  const readable = [...row.collection.fields.keys()].filter((name) => compiler.readable(row, name));
  const found = compiler.byCondition(row, readable).flatMap(({ names, isShown }) => {
    const conditions = names.flatMap(matching);
    if (conditions.length === 0 || isShown === null) return conditions;
    // With `case`, hidden texts do not even affect how long a search takes. The condition outside of it can use an index.
    return [sql`(${isShown} and case when ${isShown} then ${sql.join(conditions, sql` or `)} end)`];
  });
  return found.length === 0 ? sql`false` : sql`(${sql.join(found, sql` or `)})`;
}

function typeOf(collection: Collection, name: string) {
  const field = collection.fields.get(name);
  return field?.kind === 'value' ? field.type : undefined;
}

/** The value of a field that is reached through relations; null where there is no related item, or none that the caller may read. */
function valueAt(compiler: Compiler, row: Row, [name = '', ...rest]: readonly string[]): SQL {
  const field = row.collection.fields.get(name);
  if (rest.length === 0 || !field?.target) return compiler.field(row, name);
  const item = compiler.row(collections[field.target]);
  return sql`(select ${valueAt(compiler, item, rest)} from ${compiler.source(item)} where ${compiler.hasKey(item, compiler.field(row, name))} and ${compiler.visible(item)})`;
}
