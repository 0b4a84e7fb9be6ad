import { type SQL, sql } from 'drizzle-orm';
import { uuidPattern } from '../../schemas/common.js';
import { type Executor, rows } from '../client.js';
import { writeStatement } from '../fixed-statement.js';
import { keepFew } from '../kept.js';
import { type AccessView, coverAllItems, seesAll } from '../query-language/access-view.js';
import { type Collection, collections, type ListField } from '../query-language/collections.js';
import { arrayOf, type Compiler, createCompiler, literal, type Row } from '../query-language/compile.js';
import type { FieldTree } from '../query-language/fields.js';
import type { Aggregate, Query, Selection } from '../query-language/query.js';
import { mayContain, searchedTexts } from '../query-language/search-text.js';
import { countAllUsers } from './user-counts.js';

export type Item = Record<string, unknown>;

/** How many items of a list are answered inside another item. */
const mostNested = 100;

/** The items that a query asks for, in one statement however deep its fields go; without fields, their keys as `id`. */
export async function readItems(
  executor: Executor,
  collection: Collection,
  query: Omit<Query, 'meta' | 'aggregate'>,
  access: AccessView,
): Promise<Item[]> {
  const compiler = createCompiler(access);
  const row = compiler.row(collection);
  const columns =
    access === seesAll ? writtenColumns(collection, query.fields) : columnsOf(compiler, row, query.fields);
  const order = query.sort.map(
    ({ path, descending }) => sql`${valueAt(compiler, row, path)} ${descending ? sql`desc` : sql`asc`}`,
  );
  // Items that were asked for by key come in the order of the keys.
  if (query.keys) order.push(sql`array_position(${keyList(collection, query.keys)}, ${compiler.column(row, 'id')})`);
  order.push(compiler.column(row, 'id'));
  return rows(
    executor,
    sql`select ${columns} from ${compiler.source(row)}
      where ${selected(compiler, row, query)} order by ${sql.join(order, sql`, `)}
      ${query.limit === null ? sql`` : sql`limit ${query.limit}::bigint`} offset ${query.offset}::bigint`,
  );
}

/** What a statement selects; without fields, the keys as `id`. */
function columnsOf(compiler: Compiler, row: Row, fields: FieldTree): SQL {
  if (fields.size === 0) return sql`${compiler.column(row, 'id')} as id`;
  const columns = [...fields].map(
    ([name, subtree]) => sql`${output(compiler, row, name, subtree)} as ${sql.identifier(name)}`,
  );
  return sql.join(columns, sql`, `);
}

const written = keepFew<SQL>(200);

/** The same for who sees everything. There are no values in it, so what was written for a set of fields is kept. */
const writtenColumns = (collection: Collection, fields: FieldTree): SQL =>
  written(`${collection.name} ${nameOf(fields)}`, () => {
    const compiler = createCompiler(seesAll);
    const query = writeStatement(columnsOf(compiler, compiler.row(collection), fields));
    if (query.params.length > 0) throw new Error('There are values among the columns.');
    return sql.raw(query.sql);
  });

const nameOf = (fields: FieldTree): string =>
  [...fields].map(([name, subtree]) => (subtree ? `${name}(${nameOf(subtree)})` : name)).join();

/** One item by its key, as JSON in another statement: these of its fields, for who may see all of it. */
export function itemAsJson(collection: Collection, fields: readonly string[], key: SQL): SQL {
  const compiler = createCompiler(seesAll);
  const row = compiler.row(collection);
  const shown = json(compiler, row, new Map(fields.map((name) => [name, null])));
  return sql`(select ${shown} from ${compiler.source(row)} where ${compiler.isKeyOf(row, key)})`;
}

/** How many items there are: those that match the selection, among those that may be seen. */
export async function countItems(
  executor: Executor,
  collection: Collection,
  selection: Selection,
  access: AccessView,
): Promise<number> {
  const { filter, search, keys } = selection;
  const isAll = filter === null && search === null && !keys && coverAllItems(access(collection.name));
  if (isAll && collection === collections.users) return countAllUsers(executor);
  const compiler = createCompiler(access);
  const row = compiler.row(collection);
  const [found] = await rows<{ count: number }>(
    executor,
    sql`select count(*)::float8 as count from ${compiler.source(row)} where ${selected(compiler, row, selection)}`,
  );
  return found?.count ?? 0;
}

/** One row for each group, such as `{"status": "active", "count": 6}`; one row in all when there are no groups. */
export async function aggregateItems(
  executor: Executor,
  collection: Collection,
  query: Pick<Query, 'filter' | 'search' | 'sort' | 'limit' | 'offset'> & { aggregate: Aggregate },
  access: AccessView,
): Promise<Item[]> {
  const compiler = createCompiler(access);
  const row = compiler.row(collection);
  const { groupBy, columns } = query.aggregate;
  const groups = groupBy.map((name) => ({ name, value: output(compiler, row, name, null) }));
  const aggregated = columns.map(({ function: name, field }) => {
    if (field === null) return sql`count(*)::float8`;
    const value = valueAt(compiler, row, [field]);
    switch (name) {
      case 'count':
        return sql`count(${value})::float8`;
      case 'countDistinct':
        return sql`count(distinct ${value})::float8`;
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
  const found = await rows<Record<string, unknown>>(
    executor,
    sql`select ${sql.join(named, sql`, `)} from ${compiler.source(row)} where ${selected(compiler, row, query)} ${grouping}
      ${query.limit === null ? sql`` : sql`limit ${query.limit}::bigint`} offset ${query.offset}::bigint`,
  );
  return found.map((record) => {
    const item: Item = {};
    groups.forEach(({ name }, index) => {
      item[name] = record[`c${index}`];
    });
    columns.forEach(({ function: name, field }, index) => {
      const value = record[`c${groups.length + index}`];
      if (field === null) item[name] = value;
      else item[name] = { ...(item[name] as Item | undefined), [field]: value };
    });
    return item;
  });
}

/** Keys of a collection's type, as one parameter. */
const keyList = ({ keyType }: Collection, keys: readonly (string | number)[]): SQL => arrayOf({ type: keyType }, keys);

function selected(compiler: Compiler, row: Row, { filter, search, keys }: Selection): SQL {
  const conditions = [compiler.visible(row)];
  if (keys) conditions.push(sql`${compiler.column(row, 'id')} = any(${keyList(row.collection, keys)})`);
  if (filter) conditions.push(compiler.matches(row, filter));
  if (search !== null) conditions.push(searched(compiler, row, search));
  return sql.join(conditions, sql` and `);
}

/** Whether a term is in one of the texts that may be read, in any letter case; a UUID is looked for among the keys too. */
function searched(compiler: Compiler, row: Row, term: string): SQL {
  const pattern = `%${literal(term)}%`;
  const isUuid = uuidPattern.test(term);
  const found = [...row.collection.fields].flatMap(([name, field]) => {
    if (field.kind !== 'value' || field.concealed || !compiler.readable(row, name)) return [];
    if (field.type === 'text') return [sql`${compiler.field(row, name)} ilike ${pattern}`];
    return field.type === 'uuid' && isUuid ? [sql`${compiler.field(row, name)} = ${term}::uuid`] : [];
  });
  if (found.length === 0) return sql`false`;
  const anywhere = sql`(${sql.join(found, sql` or `)})`;
  if (row.collection.name !== 'users' || isUuid || !seesAllTexts(compiler, row)) return anywhere;
  const column = (name: string) => sql`${sql.identifier(row.alias)}.${sql.identifier(name)}`;
  return sql`(${mayContain(term, column)} and ${anywhere})`;
}

/** Whether the caller sees every text of every row: what they do not see must not so much as decide how long a search takes. */
const seesAllTexts = (compiler: Compiler, row: Row): boolean => {
  const value = sql``;
  return searchedTexts(row.collection).every(
    ([name]) => compiler.readable(row, name) && compiler.masked(row, name, value) === value,
  );
};

const iso = (moment: SQL) => sql`to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

function typeOf(collection: Collection, name: string) {
  const field = collection.fields.get(name);
  return field?.kind === 'value' ? field.type : undefined;
}

/** The value of a field that is reached through keys; null where a key leads nowhere, or not for the caller. */
function valueAt(compiler: Compiler, row: Row, [name = '', ...rest]: readonly string[]): SQL {
  const field = row.collection.fields.get(name);
  if (rest.length === 0 || !field?.target) return compiler.field(row, name);
  const item = compiler.row(collections[field.target]);
  return sql`(select ${valueAt(compiler, item, rest)} from ${compiler.source(item)} where ${compiler.isKeyOf(item, compiler.field(row, name))} and ${compiler.visible(item)})`;
}

/** What is answered for a field: a value, or JSON of the items behind it. */
function output(compiler: Compiler, row: Row, name: string, subtree: FieldTree | null): SQL {
  const field = row.collection.fields.get(name);
  if (field?.kind === 'list') return listOutput(compiler, row, name, field, subtree);
  if (subtree && field?.target) {
    const item = compiler.row(collections[field.target]);
    return sql`(select ${json(compiler, item, subtree)} from ${compiler.source(item)} where ${compiler.isKeyOf(item, compiler.field(row, name))} and ${compiler.visible(item)})`;
  }
  const value = compiler.field(row, name);
  return field?.type === 'timestamp' ? iso(value) : value;
}

function listOutput(compiler: Compiler, row: Row, name: string, list: ListField, subtree: FieldTree | null): SQL {
  const items = compiler.row(collections[list.target]);
  const { from, owner } = compiler.linked(list, items);
  const id = compiler.column(items, 'id');
  const visible = compiler.visible(items);
  // The keys of others' items are shown to who may read them there.
  const key = compiler.field(items, 'id');
  const seen = subtree ? visible : list.held ? sql`true` : sql`${visible} and ${key} is not null`;
  const shown = subtree ? json(compiler, items, subtree) : id;
  const found = sql`(select coalesce(json_agg(item), '[]') from (select ${shown} as item from ${from} where ${owner} = ${compiler.column(row, 'id')} and ${seen} order by ${id} limit ${sql.raw(String(mostNested))}) nested)`;
  return compiler.masked(row, name, found);
}

function json(compiler: Compiler, row: Row, tree: FieldTree): SQL {
  // The names are those of the map of fields.
  const pairs = [...tree].map(
    ([name, subtree]) => sql`${sql.raw(`'${name}'`)}, ${output(compiler, row, name, subtree)}`,
  );
  return sql`json_build_object(${sql.join(pairs, sql`, `)})`;
}
