import { setImmediate } from 'node:timers/promises';
import type { CostlyQueries } from '../../db/queries/items/costly-queries.js';
import {
  aggregateItems,
  countItems,
  detachPosition,
  type Item,
  keyOf,
  type ListQuery,
  type Position,
  partSizeOf,
  type ReadLimits,
  readItems,
  tooLarge,
} from '../../db/queries/items/items.js';
import { withKnownKeys } from '../../db/queries/items/known-keys.js';
import type { Key } from '../../db/queries/items/writes.js';
import { type CollectionName, collections } from '../../db/query-language/collections.js';
import { parseQuery, type Query, type QueryInput, type QueryLimits } from '../../db/query-language/query.js';
import { ApiError } from '../../schemas/errors.js';
import { isUnlimited, permissionsFor } from '../access/permissions.js';
import { accessViewOf, variablesOf } from '../access/view.js';
import type { Caller } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import type { Cursors } from './cursors.js';
import { readKey } from './payload.js';
import type { QueryLimitsOf } from './query-limits.js';

export interface Meta {
  total_count?: number;
  filter_count?: number;
  /** Null on the last page. */
  next_cursor?: string | null;
  /** Set if nothing was changed. */
  dry_run?: true;
}

/** The answer to a query. A long list is returned as JSON text in parts, so that memory holds it only once. */
export interface ListResult {
  body: { data: Item[]; meta?: Meta } | readonly string[];
  /** The cursor for the rest of a list that was cut off although the query requested all of it. */
  next?: string;
}

export interface Items {
  /**
   * The items that a query selects among those that the caller may read. `meta` is present only if the query requests it.
   * @throws {ApiError} INVALID_QUERY; FORBIDDEN when the caller may not read the collection or one of the fields
   */
  list(caller: Caller, name: CollectionName, input: QueryInput): Promise<ListResult>;
  /**
   * One item by its key.
   * @throws {ApiError} INVALID_QUERY; FORBIDDEN when it does not exist or the caller may not read it
   */
  read(caller: Caller, name: CollectionName, key: Key, input: QueryInput): Promise<{ data: Item; meta?: Meta }>;
  /** The items with these keys that the caller may read, in the order of the keys. */
  readMany(
    caller: Caller,
    name: CollectionName,
    keys: readonly Key[],
    input: QueryInput,
  ): Promise<{ data: Item[]; meta?: Meta }>;
  /** Rejects the queries that `readMany` would reject. */
  check(caller: Caller, name: CollectionName, input: QueryInput): Promise<void>;
}

export function createItems(
  { dbOf, clock, reachOf, signInStates }: Services,
  own: { limitsOf: QueryLimitsOf; cursors: Cursors; costly: CostlyQueries },
): Items {
  const { limitsOf, cursors, costly } = own;

  const prepare = async (caller: Caller, name: CollectionName, input: QueryInput) => {
    const limits = limitsOf(caller);
    const { collection, view, query, reach } = await prepareQuery(reachOf, caller, name, input, limits, clock());
    const db = dbOf(caller);
    const readLimits = { ...limits.read, soFar: { listed: 0 } };
    const { onRequest } = query;
    /** Reads items, with the fields that are returned only on request. */
    const read = async (part: ListQuery): Promise<Item[]> => {
      const isKeysOnly = part.fields.size === 0 && query.fields.size > 0;
      if (onRequest.length === 0 || isKeysOnly) return readItems(db, collection, part, view, readLimits);
      const items = await readItems(db, collection, { ...part, hasPositions: true }, view, readLimits);
      const states = await signInStates.read(db, items.map(keyOf), reach, onRequest);
      for (const item of items) {
        const state = states.get(keyOf(item));
        if (query.fields.size === 0) delete item.id;
        for (const field of onRequest) item[field] = state?.[field as keyof typeof state] ?? null;
        if (!part.hasPositions) detachPosition(item);
      }
      return items;
    };
    return { db, collection, view, query, read, limits: readLimits };
  };

  const metaOf = async (
    query: Query,
    count: (selection: Pick<Query, 'filter' | 'search'>) => Promise<number>,
    next: string | null = null,
  ) => {
    if (query.meta.size === 0) return {};
    const meta: Meta = {};
    if (query.meta.has('cursor')) meta.next_cursor = next;
    if (query.meta.has('total_count')) meta.total_count = await count({ filter: null, search: null });
    if (query.meta.has('filter_count')) meta.filter_count = await count(query);
    return { meta };
  };

  const readMany: Items['readMany'] = async (caller, name, keys, input) => {
    const { db, collection, view, query, read } = await prepare(caller, name, itemPartsOf(input));
    const data: Item[] = [];
    for await (const part of inParts(keys, partSizeOf(collection, query.fields), (chunk) =>
      read({ ...query, keys: chunk, limit: null, offset: 0 }),
    )) {
      data.push(...part);
    }
    return { data, ...(await metaOf(query, (selection) => countItems(db, collection, selection, view))) };
  };

  return {
    list: async (caller, name, input) => {
      const { db, collection, view, query: asked, read, limits } = await prepare(caller, name, input);
      const filter = await withKnownKeys(db, collection, asked.filter, view);
      const query = await costly.split(db, collection, { ...asked, filter }, view);
      const { aggregate } = query;
      const meta = (next: string | null = null) =>
        metaOf(query, (selection) => countItems(db, collection, selection, view), next);
      if (aggregate) {
        return {
          body: {
            data: await aggregateItems(db, collection, { ...query, aggregate }, view, limits),
            ...(await meta()),
          },
        };
      }
      const after = query.cursor === null ? null : cursors.read(collection, query.sort, query.cursor);
      const isCutOff = query.isAll && query.limit !== null;
      const hasCursor = query.meta.has('cursor') || isCutOff;
      const partSize = partSizeOf(collection, query.fields);
      const isLong = query.limit === null || query.limit > partSize;
      // For a long list, the service reads the keys first and then the items in parts.
      const wanted = { ...query, after, ...(isLong && { fields: new Map(), limit: maxKeys(limits, query) }) };
      const page = hasCursor ? await readPage(wanted, read) : { items: await read(wanted), last: undefined };
      const continued = page.last === undefined ? null : cursors.write(collection, query.sort, page.last);
      const next = isCutOff && continued !== null ? { next: continued } : {};
      if (!isLong) return { body: { data: page.items, ...(await meta(continued)) }, ...next };
      const parts = await writeInParts(limits, query, page.items, partSize, read);
      const { meta: numbers } = await meta(continued);
      const end = `]${numbers ? `,"meta":${JSON.stringify(numbers)}` : ''}}`;
      return { body: ['{"data":[', ...parts, end], ...next };
    },

    read: async (caller, name, key, input) => {
      const found = readKey(collections[name], key);
      const { data, ...meta } = await readMany(caller, name, found === undefined ? [] : [found], input);
      const [item] = data;
      if (!item) throw new ApiError('FORBIDDEN');
      return { data: item, ...meta };
    },

    readMany,

    check: async (caller, name, input) => {
      await prepare(caller, name, itemPartsOf(input));
    },
  };
}

/** Whether what the caller may read depends on the rights of other users. */
const needsReach = (caller: Caller): boolean =>
  !isUnlimited(caller, 'activity', 'read') && permissionsFor(caller, 'activity', 'read').length > 0;

/**
 * What a caller may read, and their query.
 * @throws {ApiError} INVALID_QUERY; FORBIDDEN when the caller may not read the collection or one of the fields
 */
export async function prepareQuery(
  reachOf: Services['reachOf'],
  caller: Caller,
  name: CollectionName,
  input: QueryInput,
  limits: QueryLimits,
  now: Date,
) {
  const collection = collections[name];
  const reach = needsReach(caller) ? await reachOf(caller, now) : null;
  const view = accessViewOf(caller, now, reach);
  if (view(name).length === 0) throw new ApiError('FORBIDDEN');
  return { collection, view, query: parseQuery(input, collection, view, variablesOf(caller, now), limits), reach };
}

type Read = (query: ListQuery) => Promise<Item[]>;

/** How many keys of a long list to read: one more than the maximum number of items that fit into a response. */
const maxKeys = (limits: ReadLimits, { limit, fields }: Query): number =>
  Math.min(limit ?? Number.POSITIVE_INFINITY, Math.floor(limits.bytes / (10 * fields.size + 3)) + 1);

/**
 * Reads the items of one page.
 * @returns `last` is the position after which the next page starts. Null: the next page starts at the first row. Undefined: this
 *   was the last page.
 */
async function readPage(query: ListQuery, read: Read): Promise<{ items: Item[]; last: Position | null | undefined }> {
  const { limit, after = null } = query;
  // One extra item shows that there are more.
  const items = await read({ ...query, limit: limit === null ? null : limit + 1, hasPositions: true });
  const positions = items.map(detachPosition);
  if (limit === null || items.length <= limit) return { items, last: undefined };
  return { items: items.slice(0, limit), last: limit === 0 ? after : (positions[limit - 1] ?? null) };
}

/**
 * Reads the items of a long list by their keys, part by part, and returns them as JSON text. Neither the database nor this process
 * ever holds all items at the same time, and other requests can run between the parts.
 */
async function writeInParts(
  limits: ReadLimits,
  query: Query,
  found: readonly Item[],
  partSize: number,
  read: Read,
): Promise<string[]> {
  const keys = found.map(({ id }) => id as Key);
  if (keys.length >= maxKeys(limits, { ...query, limit: null })) throw tooLarge(limits);
  const written: string[] = [];
  let bytes = 0;
  for await (const items of inParts(keys, partSize, (part) => read({ ...query, keys: part, limit: null, offset: 0 }))) {
    if (items.length === 0) continue;
    const text = `${written.length > 0 ? ',' : ''}${JSON.stringify(items).slice(1, -1)}`;
    bytes += Buffer.byteLength(text);
    if (bytes > limits.bytes) throw tooLarge(limits);
    written.push(text);
  }
  return written;
}

/** Reads a list part by part, so that other requests can run between the parts. */
async function* inParts<T>(
  list: readonly T[],
  partSize: number,
  read: (part: readonly T[]) => Promise<Item[]>,
): AsyncGenerator<Item[]> {
  for (let start = 0; start < list.length; start += partSize) {
    if (start > 0) await setImmediate();
    yield await read(list.slice(start, start + partSize));
  }
}

/** The parts of a query that apply to items selected by their keys. */
const itemPartsOf = ({ fields, meta }: QueryInput): QueryInput => ({ fields, meta });
