import { storedEmail } from '../../schemas/common.js';
import type { ListQuery } from '../../schemas/item-requests.js';
import { type Collection, collections } from './collections.js';
import { type FieldTree, parseNamedFields } from './fields.js';
import { type AccessView, type Filter, type FilterLimits, isReadable, parseFilter } from './filter.js';
import { forbiddenField, invalidQuery } from './invalid-query.js';
import type { Variables } from './variables.js';

/** The parameters of a query, from the query string or from a body. */
export type QueryInput = { [Name in keyof ListQuery]?: ListQuery[Name] | undefined };

export interface SortKey {
  /** A field, preceded by the keys that lead to it. */
  path: readonly string[];
  descending: boolean;
}

/** A sort parameter as a client would write it. */
export const nameOfSort = (sort: readonly SortKey[]): string =>
  sort.map(({ path, descending }) => `${descending ? '-' : ''}${path.join('.')}`).join();

export const aggregateFunctions = ['count', 'countDistinct', 'min', 'max'] as const;
export type AggregateFunction = (typeof aggregateFunctions)[number];

export interface Aggregate {
  groupBy: readonly string[];
  /** If `field` is null, it stands for `*`: the items themselves are counted. */
  columns: readonly { function: AggregateFunction; field: string | null }[];
}

export interface Selection {
  filter: Filter | null;
  search: string | null;
  /** Only items with these keys, whether or not the caller may read the field `id`. */
  keys?: readonly (string | number)[];
  /** The same, in no particular order. */
  among?: readonly (string | number)[];
}

/** A parsed and validated query. */
export interface Query extends Selection {
  fields: FieldTree;
  /** The fields that are returned only on request: see `Collection.onRequest`. */
  onRequest: readonly string[];
  sort: readonly SortKey[];
  /** Null: all items. */
  limit: number | null;
  /** Whether the query requested all items. In that case `limit`, if there is one, is the number at which the list is cut off. */
  isAll: boolean;
  offset: number;
  /** Where to continue; null: at the first item. */
  cursor: string | null;
  meta: ReadonlySet<'total_count' | 'filter_count' | 'cursor'>;
  aggregate: Aggregate | null;
}

/** Limits on what one query may request. */
export interface QueryLimits {
  /** Number of items when the query has no `limit`. */
  default: number;
  /** Maximum number of items; null: no limit. */
  maximum: number | null;
  /** Null: only the limit of a statement applies. */
  filter: FilterLimits | null;
  /** Maximum number of columns of `aggregate` and `groupBy` together; null: no limit. */
  columns: number | null;
}

/**
 * Validates a query for one caller, and parses its filter and its names.
 * @throws {ApiError} INVALID_QUERY; FORBIDDEN for a field that does not exist or may not be read
 */
export function parseQuery(
  input: QueryInput,
  collection: Collection,
  access: AccessView,
  variables: Variables,
  limits: QueryLimits,
): Query {
  const limit = limitOf(input, limits);
  const aggregate = parseAggregate(input, collection, access, limits.columns);
  const isAbsent = input.filter === undefined || input.filter === null || input.filter === '';
  return {
    ...(aggregate ? { fields: new Map(), onRequest: [] } : parseNamedFields(input.fields, collection, access)),
    filter: isAbsent ? null : parseFilter(input.filter, collection, access, variables, limits.filter),
    search: searchOf(input.search),
    sort: parseSort(input.sort, collection, access),
    limit,
    isAll: input.limit === -1,
    offset: offsetOf(input, limit),
    cursor: cursorOf(input, aggregate),
    meta: metaOf(input.meta, aggregate),
    aggregate,
  };
}

function limitOf({ limit }: QueryInput, { default: standard, maximum }: QueryLimits): number | null {
  if (limit === undefined) return maximum === null ? standard : Math.min(standard, maximum);
  if (limit === -1) return maximum;
  if (maximum !== null && limit > maximum) throw invalidQuery(`limit can be at most ${maximum}`);
  return limit;
}

function offsetOf({ offset = 0, page }: QueryInput, limit: number | null): number {
  if (page === undefined) return offset;
  // Without a limit, the first page contains everything, and the following pages are empty.
  return Math.min(Math.max(page - 1, 0) * (limit ?? Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

function cursorOf({ cursor, offset, page }: QueryInput, aggregate: Aggregate | null): string | null {
  if (!cursor) return null;
  if (offset !== undefined || page !== undefined) throw invalidQuery('cursor cannot be combined with offset or page');
  if (aggregate) throw invalidQuery('cursor cannot be combined with aggregate');
  return cursor;
}

function metaOf(asked: QueryInput['meta'] = [], aggregate: Aggregate | null): Query['meta'] {
  const names = asked.flatMap((name) => (name === '*' ? (['total_count', 'filter_count'] as const) : [name]));
  if (aggregate && names.includes('cursor')) throw invalidQuery('meta=cursor cannot be combined with aggregate');
  return new Set(names);
}

function searchOf(value = ''): string | null {
  const term = value.trim();
  if (term.length > 255 || term.includes('\0'))
    throw invalidQuery('search can have at most 255 characters, and no NUL character');
  // Addresses are stored with an ASCII domain.
  return term === '' ? null : (storedEmail(term) ?? term);
}

const maxSortKeys = 20;
const maxSortDepth = 6;

function parseSort(names: readonly string[] = [], collection: Collection, access: AccessView): SortKey[] {
  if (names.length > maxSortKeys) throw invalidQuery(`sort can have at most ${maxSortKeys} fields`);
  return names.map((name) => {
    const descending = name.startsWith('-');
    const path = (descending ? name.slice(1) : name).split('.');
    if (path.length > maxSortDepth) throw invalidQuery(`sort can be at most ${maxSortDepth} levels deep`);
    checkPath(path, collection, access);
    return { path, descending };
  });
}

/** Every part except the last must be a key that can be followed, the last must be a value, and all must be readable. */
function checkPath(path: readonly string[], collection: Collection, access: AccessView): void {
  let place = collection;
  path.forEach((name, index) => {
    const field = place.fields.get(name);
    if (!field || !isReadable(access(place.name), name)) throw forbiddenField(place.name, name);
    if (field.kind === 'list') throw invalidQuery(`sort cannot use ${name}, which is a list`);
    if (index === path.length - 1) return;
    if (field.target === undefined) throw forbiddenField(place.name, `${name}.${path[index + 1]}`);
    place = collections[field.target];
  });
}

function parseAggregate(
  input: QueryInput,
  collection: Collection,
  access: AccessView,
  maxColumns: number | null,
): Aggregate | null {
  const groupBy = [...new Set(input.groupBy)];
  if (input.aggregate === undefined) {
    if (groupBy.length > 0) throw invalidQuery('groupBy requires aggregate');
    return null;
  }
  const columns = Object.entries(input.aggregate).flatMap(([name, fields]) => {
    const known = aggregateFunctions.find((candidate) => candidate === name);
    if (!known) throw invalidQuery(`aggregate supports only the functions ${aggregateFunctions.join(', ')}`);
    return [...new Set(fields)].map((field) => {
      if (field === '*' && known === 'count') return { function: known, field: null };
      checkAggregated(known, field, collection, access);
      return { function: known, field };
    });
  });
  if (columns.length === 0)
    throw invalidQuery('aggregate must contain functions with their fields, such as aggregate[count]=*');
  if (maxColumns !== null && groupBy.length + columns.length > maxColumns) {
    throw invalidQuery(`aggregate and groupBy can have at most ${maxColumns} columns in total`);
  }
  for (const field of groupBy) checkAggregated('countDistinct', field, collection, access);
  return { groupBy, columns };
}

function checkAggregated(name: AggregateFunction, field: string, collection: Collection, access: AccessView): void {
  checkPath([field], collection, access);
  const found = collection.fields.get(field);
  const type = found?.kind === 'value' ? found.type : 'json';
  const ordered = type === 'text' || type === 'timestamp' || type === 'integer';
  if ((name === 'min' || name === 'max') && !ordered) throw invalidQuery(`${field} does not support ${name}`);
  if (name === 'countDistinct' && type === 'json')
    throw invalidQuery(`${field} does not support countDistinct or groupBy`);
}
