import type { Executor } from '../../db/client.js';
import { type Item, readItems } from '../../db/queries/items.js';
import type { Key } from '../../db/queries/writes.js';
import { collections, type WritableCollection } from '../../db/query-language/collections.js';
import { parseQuery, type QueryInput } from '../../db/query-language/query.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { Caller } from '../access/service.js';
import { accessViewOf, variablesOf } from '../access/view.js';
import type { Clock } from '../clock.js';
import { invalidPayload, readKey } from './payload.js';
import type { Items, Meta } from './service.js';
import type { Writes } from './writes.js';

/** What a write answers: the items as the caller sees them now, or nothing when they may see none. */
export type Written<Data> = { data: Data; meta?: Meta } | null;

/** Creates, updates and deletes items in all the forms that a body may have (contract 2.9 to 2.11). */
export interface Mutations {
  create(caller: Caller, name: WritableCollection, body: unknown, query: QueryInput): Promise<Written<Item | Item[]>>;
  updateOne(
    caller: Caller,
    name: WritableCollection,
    key: string,
    body: unknown,
    query: QueryInput,
  ): Promise<Written<Item>>;
  updateMany(caller: Caller, name: WritableCollection, body: unknown, query: QueryInput): Promise<Written<Item[]>>;
  removeOne(caller: Caller, name: WritableCollection, key: string): Promise<void>;
  removeMany(caller: Caller, name: WritableCollection, body: unknown): Promise<void>;
}

export function createMutations(deps: {
  db: Executor;
  clock: Clock;
  items: Items;
  writes: Writes;
  maxBatch: number;
}): Mutations {
  const { db, clock, items, writes, maxBatch } = deps;

  const limited = <T>(list: readonly T[]): readonly T[] => {
    if (list.length > maxBatch) throw invalidPayload(`A request may hold at most ${maxBatch} items`);
    return list;
  };

  /** A key that can be none is like one that is not there: it is not told which (contract 2.10). */
  const keyOf = (name: WritableCollection, value: unknown): Key => {
    const key = readKey(collections[name], value);
    if (key === undefined) throw new ApiError('FORBIDDEN');
    return key;
  };

  const keysOf = (name: WritableCollection, list: unknown): Key[] => {
    if (!Array.isArray(list)) throw invalidPayload('keys takes a list of keys');
    return limited(list).map((key) => keyOf(name, key));
  };

  /** The keys of the items that a query in a body selects, among those that the caller may see. */
  const keysByQuery = async (caller: Caller, name: WritableCollection, input: unknown): Promise<Key[]> => {
    if (!isObject(input)) throw invalidPayload('query takes an object');
    const now = clock();
    const view = accessViewOf(caller, now);
    if (view(name).length === 0) throw new ApiError('FORBIDDEN');
    const { fields: _fields, meta: _meta, aggregate: _aggregate, groupBy: _groupBy, ...selection } = input;
    const limits = { default: maxBatch + 1, maximum: maxBatch + 1 };
    const query = parseQuery(selection, collections[name], view, variablesOf(caller, now), limits);
    const found = await readItems(db, collections[name], { ...query, fields: new Map() }, view);
    return limited(found.map(({ id }) => id as Key)).slice();
  };

  /** Refuses a query that the answer could not meet, before anything is written. */
  const checkAnswer = (caller: Caller, name: WritableCollection, query: QueryInput) => {
    const view = accessViewOf(caller, clock());
    return view(name).length > 0 && items.check(caller, name, query);
  };

  const answer = async (caller: Caller, name: WritableCollection, keys: readonly Key[], query: QueryInput) =>
    accessViewOf(caller, clock())(name).length === 0 ? null : items.readMany(caller, name, keys, query);

  const first = (found: Written<Item[]>): Written<Item> => {
    const [item] = found?.data ?? [];
    return item === undefined ? null : { ...found, data: item };
  };

  return {
    create: async (caller, name, body, query) => {
      checkAnswer(caller, name, query);
      const isWrapped = isObject(body) && Object.keys(body).length === 1 && Array.isArray(body.data);
      const list = Array.isArray(body) ? body : isWrapped ? (body.data as unknown[]) : undefined;
      const keys = await writes.create(caller, name, limited(list ?? [body]), { isBatch: list !== undefined });
      const found = await answer(caller, name, keys, query);
      return list === undefined ? first(found) : (found ?? { data: [] });
    },

    updateOne: async (caller, name, key, body, query) => {
      checkAnswer(caller, name, query);
      const keys = [keyOf(name, key)];
      await writes.update(caller, name, [{ keys, input: body }]);
      return first(await answer(caller, name, keys, query));
    },

    updateMany: async (caller, name, body, query) => {
      checkAnswer(caller, name, query);
      const updates = await readUpdates(body);
      await writes.update(caller, name, updates);
      const keys = [...new Set(updates.flatMap((update) => update.keys))];
      return (await answer(caller, name, keys, query)) ?? null;

      async function readUpdates(form: unknown) {
        if (Array.isArray(form)) {
          return limited(form).map((item: unknown) => {
            if (!isObject(item) || item.id === undefined) throw invalidPayload('Each item of a list needs its id');
            return { keys: [keyOf(name, item.id)], input: item as unknown };
          });
        }
        if (!isObject(form) || !isObject(form.data))
          throw invalidPayload('An update takes {keys, data}, {query, data}, or a list of items');
        const { data, ...selectors } = form;
        const [selector, ...others] = Object.keys(selectors);
        if (others.length > 0 || (selector !== 'keys' && selector !== 'query')) {
          throw invalidPayload('An update takes data and exactly one of keys and query');
        }
        const keys = selector === 'keys' ? keysOf(name, form.keys) : await keysByQuery(caller, name, form.query);
        return [{ keys: [...new Set(keys)], input: data as unknown }];
      }
    },

    removeOne: async (caller, name, key) => writes.remove(caller, name, [keyOf(name, key)]),

    removeMany: async (caller, name, body) => {
      const keys = await readKeys(body);
      await writes.remove(caller, name, [...new Set(keys)]);

      async function readKeys(form: unknown): Promise<Key[]> {
        if (Array.isArray(form)) return keysOf(name, form);
        const names = isObject(form) ? Object.keys(form) : [];
        if (!isObject(form) || names.length !== 1)
          throw invalidPayload('A deletion takes a list of keys, {keys}, or {query}');
        if (names[0] === 'keys') return keysOf(name, form.keys);
        if (names[0] === 'query') return keysByQuery(caller, name, form.query);
        throw invalidPayload('A deletion takes a list of keys, {keys}, or {query}');
      }
    },
  };
}
