import type { AccessView } from './access-view.js';
import { isReadable } from './access-view.js';
import { type Collection, collections } from './collections.js';
import { type FieldTree, parseFields, parseNames } from './fields.js';
import { type Filter, type FilterLimits, parseFilter } from './filter.js';
import { forbiddenField, invalidQuery } from './invalid-query.js';
import type { Variables } from './variables.js';

/** The raw parameters of a query, from the query string or from the body of a SEARCH request. */
export interface QueryInput {
  fields?: unknown;
  filter?: unknown;
  search?: unknown;
  sort?: unknown;
  limit?: unknown;
  offset?: unknown;
  page?: unknown;
  cursor?: unknown;
  meta?: unknown;
  aggregate?: unknown;
  groupBy?: unknown;
}

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
 * Parses and validates a query for one caller.
 * @throws {ApiError} INVALID_QUERY; FORBIDDEN for a field that does not exist or may not be read
 */
export function parseQuery(
  input: QueryInput,
  collection: Collection,
  access: AccessView,
  variables: Variables,
  limits: QueryLimits,
): Query {
  const limit = parseLimit(input.limit, limits);
  const aggregate = parseAggregate(input, collection, access, limits.columns);
  return {
    fields: aggregate ? new Map() : parseFields(input.fields, collection, access),
    filter: isAbsent(input.filter) ? null : parseFilter(input.filter, collection, access, variables, limits.filter),
    search: parseSearch(input.search),
    sort: parseSort(input.sort, collection, access),
    limit,
    isAll: Number(input.limit) === -1,
    offset: parseOffset(input, limit),
    cursor: parseCursor(input, aggregate),
    meta: parseMeta(input.meta, aggregate),
    aggregate,
  };
}

const isAbsent = (value: unknown) => value === undefined || value === null || value === '';

function parseInteger(name: string, value: unknown, minimum: number): number {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value.trim()) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < minimum) {
    throw invalidQuery(`${name} must be an integer of at least ${minimum}`);
  }
  return number;
}

function parseLimit(value: unknown, { default: standard, maximum }: QueryLimits): number | null {
  if (isAbsent(value)) return maximum === null ? standard : Math.min(standard, maximum);
  const limit = parseInteger('limit', value, -1);
  if (limit === -1) return maximum;
  if (maximum !== null && limit > maximum) throw invalidQuery(`limit can be at most ${maximum}`);
  return limit;
}

function parseOffset(input: QueryInput, limit: number | null): number {
  const offset = isAbsent(input.offset) ? 0 : parseInteger('offset', input.offset, 0);
  if (isAbsent(input.page)) return offset;
  const page = parseInteger('page', input.page, 0);
  // Without a limit, the first page contains everything, and the following pages are empty.
  return Math.min(Math.max(page - 1, 0) * (limit ?? Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

function parseCursor({ cursor, offset, page }: QueryInput, aggregate: Aggregate | null): string | null {
  if (isAbsent(cursor)) return null;
  if (typeof cursor !== 'string') throw invalidQuery('cursor must be the next_cursor of another response');
  if (!isAbsent(offset) || !isAbsent(page)) throw invalidQuery('cursor cannot be combined with offset or page');
  if (aggregate) throw invalidQuery('cursor cannot be combined with aggregate');
  return cursor;
}

function parseMeta(value: unknown, aggregate: Aggregate | null): Query['meta'] {
  const counts = ['total_count', 'filter_count'] as const;
  const known = [...counts, 'cursor'] as const;
  const names = parseNames('meta', value).flatMap((name) => (name === '*' ? counts : [name]));
  for (const name of names) {
    if (!known.includes(name as (typeof known)[number]))
      throw invalidQuery(`meta can contain only ${known.join(', ')} or *`);
  }
  if (aggregate && names.includes('cursor')) throw invalidQuery('meta=cursor cannot be combined with aggregate');
  return new Set(names as (typeof known)[number][]);
}

function parseSearch(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string' && typeof value !== 'number') throw invalidQuery('search must be a string');
  const term = String(value).trim();
  if (term.length > 255 || term.includes('\0'))
    throw invalidQuery('search can have at most 255 characters, and no NUL character');
  return term === '' ? null : term;
}

const mostSortKeys = 20;
const deepestSort = 6;

function parseSort(value: unknown, collection: Collection, access: AccessView): SortKey[] {
  const names = parseNames('sort', value);
  if (names.length > mostSortKeys) throw invalidQuery(`sort can have at most ${mostSortKeys} fields`);
  return names.map((name) => {
    const descending = name.startsWith('-');
    const path = (descending ? name.slice(1) : name).split('.');
    if (path.length > deepestSort) throw invalidQuery(`sort can be at most ${deepestSort} levels deep`);
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
  mostColumns: number | null,
): Aggregate | null {
  const groupBy = [...new Set(parseNames('groupBy', input.groupBy))];
  if (isAbsent(input.aggregate)) {
    if (groupBy.length > 0) throw invalidQuery('groupBy requires aggregate');
    return null;
  }
  const aggregate = typeof input.aggregate === 'string' ? parseJson(input.aggregate) : input.aggregate;
  if (typeof aggregate !== 'object' || aggregate === null || Array.isArray(aggregate)) {
    throw invalidQuery('aggregate must contain functions with their fields, such as aggregate[count]=*');
  }
  const columns = Object.entries(aggregate).flatMap(([name, fields]) => {
    const known = aggregateFunctions.find((candidate) => candidate === name);
    if (!known) throw invalidQuery(`aggregate supports only the functions ${aggregateFunctions.join(', ')}`);
    return [...new Set(parseNames(`aggregate[${known}]`, fields))].map((field) => {
      if (field === '*' && known === 'count') return { function: known, field: null };
      checkAggregated(known, field, collection, access);
      return { function: known, field };
    });
  });
  if (columns.length === 0)
    throw invalidQuery('aggregate must contain functions with their fields, such as aggregate[count]=*');
  if (mostColumns !== null && groupBy.length + columns.length > mostColumns) {
    throw invalidQuery(`aggregate and groupBy can have at most ${mostColumns} columns in total`);
  }
  for (const field of groupBy) checkAggregated('countDistinct', field, collection, access);
  return { groupBy, columns };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidQuery('aggregate is not valid JSON');
  }
}

function checkAggregated(name: AggregateFunction, field: string, collection: Collection, access: AccessView): void {
  checkPath([field], collection, access);
  const found = collection.fields.get(field);
  const type = found?.kind === 'value' ? found.type : 'json';
  const ordered = type === 'text' || type === 'timestamp' || type === 'integer';
  if ((name === 'min' || name === 'max') && !ordered) throw invalidQuery(`${field} does not support ${name}`);
  if (name === 'countDistinct' && type === 'json')
    throw invalidQuery(`${field} does not support countDistinct and groupBy`);
}
