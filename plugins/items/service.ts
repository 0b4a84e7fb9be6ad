import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import { aggregateItems, countItems, type Item, readItems } from '../../db/queries/items.js';
import type { Key } from '../../db/queries/writes.js';
import { type CollectionName, collections } from '../../db/query-language/collections.js';
import { parseQuery, type Query, type QueryInput, type QueryLimits } from '../../db/query-language/query.js';
import { ApiError } from '../../schemas/errors.js';
import type { Caller } from '../access/service.js';
import { accessViewOf, variablesOf } from '../access/view.js';
import type { Clock } from '../clock.js';
import { readKey } from './payload.js';

export interface Meta {
  total_count?: number;
  filter_count?: number;
}

export interface Items {
  /**
   * The items that a query asks for, as far as the caller may see them; `meta` only when it is asked for.
   * @throws {ApiError} INVALID_QUERY; FORBIDDEN without a right to read, or for a field that may not be read
   */
  list(caller: Caller, name: CollectionName, input: QueryInput): Promise<{ data: Item[]; meta?: Meta }>;
  /**
   * One item by its key.
   * @throws {ApiError} INVALID_QUERY; FORBIDDEN when it is not there, or not for the caller
   */
  read(caller: Caller, name: CollectionName, key: string, input: QueryInput): Promise<{ data: Item; meta?: Meta }>;
  /** The items with these keys that the caller may see, in the order of the keys. */
  readMany(
    caller: Caller,
    name: CollectionName,
    keys: readonly Key[],
    input: QueryInput,
  ): Promise<{ data: Item[]; meta?: Meta }>;
  /** Refuses what `readMany` would refuse. */
  check(caller: Caller, name: CollectionName, input: QueryInput): void;
}

export function createItems(deps: { db: Executor; clock: Clock; limits: QueryLimits }): Items {
  const { db, clock, limits } = deps;

  const prepare = (caller: Caller, name: CollectionName, input: QueryInput) => {
    const collection = collections[name];
    const now = clock();
    const view = accessViewOf(caller, now);
    if (view(name).length === 0) throw new ApiError('FORBIDDEN');
    const query = parseQuery(input, collection, view, variablesOf(caller, now), limits);
    return { collection, view, query };
  };

  const metaOf = async (query: Query, count: (selection: Pick<Query, 'filter' | 'search'>) => Promise<number>) => {
    if (query.meta.size === 0) return {};
    const meta: Meta = {};
    if (query.meta.has('total_count')) meta.total_count = await count({ filter: null, search: null });
    if (query.meta.has('filter_count')) meta.filter_count = await count(query);
    return { meta };
  };

  const readMany: Items['readMany'] = async (caller, name, keys, input) => {
    const { collection, view, query } = prepare(caller, name, ofItems(input));
    const data = await inChunks(keys, (chunk) =>
      readItems(db, collection, { ...query, keys: chunk, limit: null, offset: 0 }, view),
    );
    return { data, ...(await metaOf(query, (selection) => countItems(db, collection, selection, view))) };
  };

  return {
    list: async (caller, name, input) => {
      const { collection, view, query } = prepare(caller, name, input);
      const { aggregate } = query;
      const data = aggregate
        ? await aggregateItems(db, collection, { ...query, aggregate }, view)
        : await readItems(db, collection, query, view);
      return { data, ...(await metaOf(query, (selection) => countItems(db, collection, selection, view))) };
    },

    read: async (caller, name, key, input) => {
      const found = readKey(collections[name], key);
      const { data, ...meta } = await readMany(caller, name, found === undefined ? [] : [found], input);
      const [item] = data;
      if (!item) throw new ApiError('FORBIDDEN');
      return { data: item, ...meta };
    },

    readMany,

    check: (caller, name, input) => {
      prepare(caller, name, ofItems(input));
    },
  };
}

/** Of a query, what applies to items that are named by their keys. */
const ofItems = ({ fields, meta }: QueryInput): QueryInput => ({ fields, meta });
