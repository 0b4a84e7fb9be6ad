import type { CostlyQueries } from '../../db/queries/items/costly-queries.js';
import { type Item, readItems } from '../../db/queries/items/items.js';
import type { Key } from '../../db/queries/items/writes.js';
import { collections, type WritableCollection } from '../../db/query-language/collections.js';
import { invalidQuery } from '../../db/query-language/invalid-query.js';
import { parseQuery, type QueryInput } from '../../db/query-language/query.js';
import { ApiError } from '../../schemas/errors.js';
import type { CreateBody, DeleteBody, UpdateManyBody } from '../../schemas/item-requests.js';
import { accessViewOf, variablesOf } from '../access/view.js';
import type { Caller } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { invalidPayload, readKey } from './payload.js';
import type { QueryLimitsOf } from './query-limits.js';
import type { Items, Meta } from './service.js';
import type { AddedFields, WriteRules, Writes } from './write-engine.js';

/** The result of a write: the items as the caller can read them now. Null: the caller may not read any, or they are too large. */
export type WriteResult<Data> = { data: Data; meta?: Meta } | null;

/** Null: the items have been deleted. */
export type Removed = { data: Key[]; meta: { dry_run: true } } | null;

/** Creates, updates and deletes items, with every form of request body that the API accepts. */
export interface Mutations {
  create(
    caller: Caller,
    name: WritableCollection,
    body: CreateBody,
    query: QueryInput,
  ): Promise<WriteResult<Item | Item[]>>;
  updateOne(
    caller: Caller,
    name: WritableCollection,
    key: Key,
    body: Record<string, unknown>,
    query: QueryInput,
  ): Promise<WriteResult<Item>>;
  updateMany(
    caller: Caller,
    name: WritableCollection,
    body: UpdateManyBody,
    query: QueryInput,
  ): Promise<WriteResult<Item[]>>;
  /** @returns only in a dry run: the keys of the items that would be deleted */
  removeOne(caller: Caller, name: WritableCollection, key: Key): Promise<Removed>;
  removeMany(caller: Caller, name: WritableCollection, body: DeleteBody): Promise<Removed>;
}

export function createMutations(
  { dbOf, clock }: Services,
  own: {
    items: Items;
    writes: Writes;
    rules: Readonly<Record<WritableCollection, Pick<WriteRules, 'added'>>>;
    limitsOf: QueryLimitsOf;
    costly: CostlyQueries;
    maxBatch: number;
  },
): Mutations {
  const { items, writes, rules, limitsOf, costly, maxBatch } = own;

  const limited = <T>(list: readonly T[]): readonly T[] => {
    if (list.length > maxBatch) throw invalidPayload(`A request can contain at most ${maxBatch} items`);
    return list;
  };

  /** Rejects a malformed key with the same error as a key that does not exist. */
  const keyOf = (name: WritableCollection, value: unknown): Key => {
    const key = readKey(collections[name], value);
    if (key === undefined) throw new ApiError('FORBIDDEN');
    return key;
  };

  const keysOf = (name: WritableCollection, list: readonly unknown[]): Key[] =>
    limited(list).map((key) => keyOf(name, key));

  /** The keys of the items that a query in the body selects. It selects only items that the caller may read. */
  const keysByQuery = async (caller: Caller, name: WritableCollection, input: QueryInput): Promise<Key[]> => {
    const now = clock();
    const view = accessViewOf(caller, now);
    if (view(name).length === 0) throw new ApiError('FORBIDDEN');
    const { fields: _fields, meta: _meta, aggregate: _aggregate, groupBy: _groupBy, ...selection } = input;
    if (selection.cursor !== undefined) throw invalidQuery('The query of an update or deletion cannot have a cursor');
    const limits = limitsOf(caller);
    const maxItems = Math.min(maxBatch, limits.maximum ?? maxBatch);
    // One extra row shows that the query selects too many items.
    const limitsHere = { ...limits, default: maxItems + 1, maximum: maxItems + 1 };
    const asked = parseQuery(selection, collections[name], view, variablesOf(caller, now), limitsHere);
    const query = await costly.split(dbOf(caller), collections[name], asked, view);
    const found = await readItems(dbOf(caller), collections[name], { ...query, fields: new Map() }, view, limits.read);
    if (found.length > maxItems && maxItems < maxBatch) {
      throw invalidQuery(
        `The query of an update or deletion can select at most ${maxItems} items. Set a limit, or select fewer.`,
      );
    }
    return limited(found.map(({ id }) => id as Key)).slice();
  };

  const keysIn = async (caller: Caller, name: WritableCollection, form: { keys: unknown[] } | { query: QueryInput }) =>
    'keys' in form ? keysOf(name, form.keys) : keysByQuery(caller, name, form.query);

  const updatesOf = async (
    caller: Caller,
    name: WritableCollection,
    form: UpdateManyBody,
  ): Promise<{ keys: Key[]; input: object }[]> => {
    if (Array.isArray(form)) return limited(form).map((item) => ({ keys: [keyOf(name, item.id)], input: item }));
    return [{ keys: [...new Set(await keysIn(caller, name, form))], input: form.data }];
  };

  /** Rejects an invalid query for the response. Called before anything is written. */
  const checkResponseQuery = async (caller: Caller, name: WritableCollection, query: QueryInput) => {
    const view = accessViewOf(caller, clock());
    if (view(name).length > 0) await items.check(caller, name, query);
  };

  const readResponse = async (caller: Caller, name: WritableCollection, keys: readonly Key[], query: QueryInput) => {
    if (accessViewOf(caller, clock())(name).length === 0) return null;
    try {
      return await items.readMany(caller, name, keys, query);
    } catch (error) {
      // The query was checked earlier, so this error means that the response is too large. The write has succeeded, and clients must
      // not believe that it was rejected.
      if (error instanceof ApiError && error.code === 'INVALID_QUERY') return null;
      throw error;
    }
  };

  /** The updated items. If the rules of the collection add something to one of them, that item is read separately. */
  const readUpdated = async (
    caller: Caller,
    name: WritableCollection,
    updates: readonly { keys: readonly Key[]; input: object }[],
    query: QueryInput,
  ): Promise<WriteResult<Item[]>> => {
    const keys = [...new Set(updates.flatMap((update) => update.keys))];
    const added = await rules[name].added?.(caller, updates);
    if (!added) return readResponse(caller, name, keys, query);
    const at = keys.indexOf(added.key);
    const before = await readResponse(caller, name, keys.slice(0, at), query);
    const own = await readResponse(caller, name, [added.key], query);
    const after = await readResponse(caller, name, keys.slice(at + 1), query);
    if (!before || !own || !after) return null;
    return { ...own, data: [...before.data, ...own.data.map((item) => ({ ...item, ...added.fields })), ...after.data] };
  };

  const remove = async (caller: Caller, name: WritableCollection, keys: readonly Key[]): Promise<Removed> => {
    await writes.remove(caller, name, keys);
    return isDryRun(caller) ? { data: [...keys], meta: { dry_run: true } } : null;
  };

  const first = (found: WriteResult<Item[]>): WriteResult<Item> => {
    const [item] = found?.data ?? [];
    return item === undefined ? null : { ...found, data: item };
  };

  return {
    create: async (caller, name, body, query) => {
      await checkResponseQuery(caller, name, query);
      const wrapped = !Array.isArray(body) && Object.keys(body).length === 1 ? body.data : undefined;
      const list = [body, wrapped].find((value): value is unknown[] => Array.isArray(value));
      if (list === undefined && isDryRun(caller))
        throw invalidQuery('A dry run of a creation requires a list of items');
      const { keys, added } = await writes.create(caller, name, limited(list ?? [body]), {
        isBatch: list !== undefined,
      });
      const found = withAdded(await readResponse(caller, name, keys, query), keys, added);
      return list === undefined ? first(found) : marked(caller, found ?? { data: [] });
    },

    updateOne: async (caller, name, key, body, query) => {
      await checkResponseQuery(caller, name, query);
      const keys = [keyOf(name, key)];
      const isOwn = name === 'users' && keys[0] === caller.userId;
      const { input, ...proof } = isOwn ? takeCurrentPassword(body) : { input: body, currentPassword: undefined };
      const updates = [{ keys, input }];
      await writes.update(caller, name, updates, proof);
      return first(await readUpdated(caller, name, updates, query));
    },

    updateMany: async (caller, name, body, query) => {
      await checkResponseQuery(caller, name, query);
      const updates = await updatesOf(caller, name, body);
      await writes.update(caller, name, updates);
      return marked(caller, await readUpdated(caller, name, updates, query));
    },

    removeOne: async (caller, name, key) => remove(caller, name, [keyOf(name, key)]),

    removeMany: async (caller, name, body) => {
      const keys = Array.isArray(body) ? keysOf(name, body) : await keysIn(caller, name, body);
      return remove(caller, name, [...new Set(keys)]);
    },
  };
}

const isDryRun = ({ client }: Caller): boolean => client.unit?.isDryRun ?? false;

/** Says in the response that nothing was changed, even if the caller cannot read the items. */
const marked = (caller: Caller, found: WriteResult<Item[]>): WriteResult<Item[]> =>
  isDryRun(caller) ? { data: found?.data ?? [], meta: { ...found?.meta, dry_run: true } } : found;

/** Adds fields that are not stored, such as a new secret. No later response contains them, so this one must not lack them. */
function withAdded(
  found: WriteResult<Item[]>,
  keys: readonly Key[],
  added: AddedFields | undefined,
): WriteResult<Item[]> {
  if (!added?.size) return found;
  // The list is null if it is too large. It is shorter if another request has deleted items in the meantime.
  const isComplete = found?.data.length === keys.length;
  return {
    ...found,
    data: keys.map((key, index) => ({ ...(isComplete ? found.data[index] : { id: key }), ...added.get(key) })),
  };
}

/** Separates the current password, which users can send with an update of their own row. It is not a field and is not stored. */
function takeCurrentPassword(body: Record<string, unknown>): { input: object; currentPassword: string | undefined } {
  if (!Object.hasOwn(body, 'current_password')) return { input: body, currentPassword: undefined };
  const { current_password: currentPassword, ...input } = body;
  if (typeof currentPassword !== 'string' || currentPassword === '') {
    throw invalidPayload('current_password must be a non-empty string');
  }
  return { input, currentPassword };
}
