import { randomUUID } from 'node:crypto';
import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import { brokenConstraint, sqlStateOf } from '../../db/failures.js';
import { hasActiveAdministrator, lockAdministrators } from '../../db/queries/administrators.js';
import {
  type Columns,
  deleteRecords,
  existingKeys,
  insertRecords,
  type Key,
  lockRecords,
  matchingKeys,
  replaceLinks,
  updateRecords,
} from '../../db/queries/writes.js';
import { seesAll } from '../../db/query-language/access-view.js';
import { type Collection, type CollectionName, collections } from '../../db/query-language/collections.js';
import type { Filter } from '../../db/query-language/filter.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { Caller } from '../access/service.js';
import { variablesOf } from '../access/view.js';
import { type WriteGrant, writeGrantsOf } from '../access/write-grants.js';
import type { Clock } from '../clock.js';
import { invalidPayload, type Payload, readPayload, type SpecialFields } from './payload.js';

/** What is particular about writing a collection. */
export interface WriteRules {
  special: SpecialFields;
  /** Fields that only an administrator may write, on create and on update. */
  adminOnly: ReadonlySet<string>;
  /** What a new item has unless it is given. */
  defaults: Columns;
  /** Fields that a new item needs, alone or in a batch. */
  required(input: Record<string, unknown>, isBatch: boolean): readonly string[];
  /** Fields, links included, whose change could take the last administrator away; deleting always could. */
  carriesAdministrators: ReadonlySet<string>;
  /** Work that must be done before the transaction, such as hashing. Fills the payloads in. */
  prepare?(payloads: readonly Payload[]): Promise<void>;
  /**
   * Checks inside the transaction, the rows being locked already.
   * @param keys of what is updated; of what is created none is there yet
   */
  check?(
    tx: Executor,
    caller: Caller,
    changes: readonly Change[],
    action: 'create' | 'update' | 'delete',
  ): Promise<void>;
  /** What follows from an update, in its transaction. */
  after?(tx: Executor, caller: Caller, changes: readonly Change[]): Promise<void>;
}

/** One payload, and the items that it goes to. */
export interface Change {
  keys: readonly Key[];
  payload: Payload;
  input: Record<string, unknown>;
}

export interface Writes {
  /** Creates all of them, or none. @returns their keys, in order */
  create(caller: Caller, name: CollectionName, inputs: readonly unknown[], form: { isBatch: boolean }): Promise<Key[]>;
  /** Updates all of them, or none. */
  update(
    caller: Caller,
    name: CollectionName,
    updates: readonly { keys: readonly Key[]; input: unknown }[],
  ): Promise<void>;
  /** Deletes all of them, or none. */
  remove(caller: Caller, name: CollectionName, keys: readonly Key[]): Promise<void>;
}

const forbidden = (reason?: string) => new ApiError('FORBIDDEN', reason === undefined ? {} : { reason });

export function createWrites(deps: {
  db: Executor;
  clock: Clock;
  rules: Readonly<Record<CollectionName, WriteRules>>;
}): Writes {
  const { db, clock, rules } = deps;

  const grantsFor = (caller: Caller, name: CollectionName, action: 'create' | 'update' | 'delete') => {
    const grants = writeGrantsOf(caller, name, action, variablesOf(caller, clock()));
    if (grants.length === 0) throw forbidden();
    return grants;
  };

  /** Reads one item of a request; each field of it must be named by one of the grants, on whichever items. */
  const read = (
    caller: Caller,
    name: CollectionName,
    grants: readonly WriteGrant[],
    input: unknown,
    form: 'one' | 'batch' | 'update',
  ) => {
    const isNew = form !== 'update';
    if (!isObject(input)) throw invalidPayload('An item must be an object');
    const { id, ...withoutId } = input;
    const given = isNew ? input : withoutId;
    const presets = isNew ? Object.assign({}, ...grants.map((grant) => grant.presets)) : {};
    const merged = { ...presets, ...given };
    const payload = readPayload(collections[name], merged, rules[name].special);
    const fields = Object.keys(given);
    if (!fields.every((field) => grants.some((grant) => names(grant, field))))
      throw forbidden(`You may not write all of these fields of ${name}`);
    const reserved = Object.keys(merged).find((field) => rules[name].adminOnly.has(field));
    if (!caller.admin && reserved !== undefined)
      throw forbidden(`Only an administrator may write ${reserved} of ${name}`);
    if (isNew) {
      const missing = rules[name].required(merged, form === 'batch').find((field) => (merged[field] ?? null) === null);
      if (missing !== undefined) throw invalidPayload(`A new item of ${name} needs ${missing}`);
    }
    return { payload, fields, input: merged };
  };

  const protectAdministrators = async (tx: Executor) => {
    if (await hasActiveAdministrator(tx)) return;
    throw new ApiError('UNPROCESSABLE_CONTENT', { reason: 'There must be an active administrator left' });
  };

  const touchesAdministrators = (name: CollectionName, input: object) =>
    Object.keys(input).some((field) => rules[name].carriesAdministrators.has(field));

  return {
    create: async (caller, name, inputs, { isBatch }) => {
      const grants = grantsFor(caller, name, 'create');
      if (inputs.length === 0) return [];
      const collection = collections[name];
      const form = isBatch ? 'batch' : 'one';
      const items = await inChunks(inputs, (chunk) => chunk.map((input) => read(caller, name, grants, input, form)));
      await rules[name].prepare?.(items.map(({ payload }) => payload));
      return explained(collection, items, () =>
        transact(db, async (tx) => {
          const changes = items.map(({ payload, input }) => ({ keys: [], payload, input }));
          await checkNewKeys(tx, collection, items);
          await checkForeignKeys(tx, collection, changes);
          await rules[name].check?.(tx, caller, changes, 'create');
          const keys = await insert(tx, collection, rules[name].defaults, items);
          await writeLinks(
            tx,
            collection,
            items.map(({ payload }, index) => ({ keys: [keys[index] as Key], payload })),
          );
          const written = items.map(({ fields }, index) => ({ keys: [keys[index] as Key], fields }));
          await requireValid(tx, collection, written, await requireRules(tx, collection, written, grants));
          return keys;
        }),
      );
    },

    update: async (caller, name, updates) => {
      const grants = grantsFor(caller, name, 'update');
      const collection = collections[name];
      const items = await inChunks(updates, (chunk) =>
        chunk.map(({ keys, input }) => ({ keys, ...read(caller, name, grants, input, 'update') })),
      );
      const keys = items.flatMap((item) => item.keys);
      if (keys.length === 0) return;
      if (new Set(keys).size < keys.length) throw invalidPayload('An item is named twice');
      await rules[name].prepare?.(items.map(({ payload }) => payload));
      const isDangerous = items.some(({ input }) => touchesAdministrators(name, input));
      await explained(collection, items, () =>
        transact(db, async (tx) => {
          if (isDangerous) await lockAdministrators(tx);
          await lockAll(tx, collection, keys);
          const allowing = await requireRules(tx, collection, items, grants);
          await checkForeignKeys(tx, collection, items);
          await rules[name].check?.(tx, caller, items, 'update');
          for (const batch of sameColumns(items)) await updateRecords(tx, collection, batch);
          await writeLinks(tx, collection, items);
          await requireValid(tx, collection, items, allowing);
          if (isDangerous) await protectAdministrators(tx);
          await rules[name].after?.(tx, caller, items);
        }),
      );
    },

    remove: async (caller, name, keys) => {
      const grants = grantsFor(caller, name, 'delete');
      if (keys.length === 0) return;
      const collection = collections[name];
      await transact(db, async (tx) => {
        await lockAdministrators(tx);
        await lockAll(tx, collection, keys);
        await requireRules(tx, collection, [{ keys, fields: [] }], grants);
        const empty = { columns: {}, links: new Map() };
        await rules[name].check?.(tx, caller, [{ keys, payload: empty, input: {} }], 'delete');
        await deleteRecords(tx, collection, keys);
        await protectAdministrators(tx);
      });
    },
  };
}

const names = ({ fields }: WriteGrant, field: string) => fields === '*' || fields.has(field);

/** Of a request, which fields it writes of which items. */
interface Written {
  keys: readonly Key[];
  fields: readonly string[];
}

/** A grant, and the items that it applies to. */
interface Applied {
  grant: WriteGrant;
  keys: ReadonlySet<Key>;
}

/** Every key must be that of an item, else nothing happens; which one is not there is not told (contract 2.10). */
async function lockAll(tx: Executor, collection: Collection, keys: readonly Key[]): Promise<void> {
  const distinct = new Set(keys);
  const locked = await lockRecords(tx, collection, [...distinct]);
  if (locked.length !== distinct.size) throw forbidden();
}

/**
 * Each field of each item must be named by a grant whose rule the item matches: what one grant says of some items adds
 * nothing to what another says of others.
 * @returns the grants, each with the items that it applies to
 */
async function requireRules(
  tx: Executor,
  collection: Collection,
  written: readonly Written[],
  grants: readonly WriteGrant[],
): Promise<Applied[]> {
  const applied = await applyTo(tx, collection, written, grants, ({ rule }) => rule);
  if (!written.every((item) => isCovered(item, applied))) throw forbidden();
  return applied;
}

/** After the write, each field of each item must be named by a grant that applied to it and whose validation it meets. */
async function requireValid(
  tx: Executor,
  collection: Collection,
  written: readonly Written[],
  applied: readonly Applied[],
): Promise<void> {
  const grants = applied.map(({ grant }) => grant);
  const valid = await applyTo(tx, collection, written, grants, ({ validation }) => validation);
  const both = valid.map(({ grant, keys }, index) => ({
    grant,
    keys: new Set([...keys].filter((key) => applied[index]?.keys.has(key))),
  }));
  if (written.every((item) => isCovered(item, both))) return;
  const field = grants
    .map(({ validation }) => validation && fieldOf(validation))
    .find((found) => typeof found === 'string');
  throw new ApiError('FAILED_VALIDATION', { field: field ?? 'id', path: [], type: 'permission' });
}

/** Which of the items meet the filter of which grants; no filter is met by all. */
async function applyTo(
  tx: Executor,
  collection: Collection,
  written: readonly Written[],
  grants: readonly WriteGrant[],
  filterOf: (grant: WriteGrant) => Filter | null,
): Promise<Applied[]> {
  const keys = new Set(written.flatMap((item) => item.keys));
  const applied: Applied[] = [];
  for (const grant of grants) {
    const filter = filterOf(grant);
    const isMet = filter === null || keys.size === 0;
    applied.push({ grant, keys: isMet ? keys : await matchingKeys(tx, collection, [...keys], [filter], seesAll) });
  }
  return applied;
}

/** Whether each field of the items is named by a grant that applies to them; without fields any grant will do. */
function isCovered({ keys, fields }: Written, applied: readonly Applied[]): boolean {
  const covers = (key: Key, field?: string) =>
    applied.some((one) => one.keys.has(key) && (field === undefined || names(one.grant, field)));
  return keys.every((key) => (fields.length === 0 ? covers(key) : fields.every((field) => covers(key, field))));
}

/** A key that the caller chose must be a new one. */
async function checkNewKeys(
  tx: Executor,
  collection: Collection,
  items: readonly { payload: Payload; input: Record<string, unknown> }[],
): Promise<void> {
  const chosen = items.filter(({ payload }) => payload.columns.id !== undefined);
  const existing = await existingKeys(
    tx,
    collection,
    chosen.map(({ payload }) => payload.columns.id as Key),
  );
  for (const { payload, input } of chosen) {
    const id = payload.columns.id as Key;
    if (existing.has(id))
      throw new ApiError('RECORD_NOT_UNIQUE', { collection: collection.name, field: 'id', value: input.id });
    existing.add(id);
  }
}

/** Keys that point to nothing are refused with the field they stand in. */
async function checkForeignKeys(
  tx: Executor,
  collection: Collection,
  changes: readonly { payload: Payload }[],
): Promise<void> {
  for (const [name, field] of collection.fields) {
    if (field.target === undefined) continue;
    const used = changes.flatMap(({ payload }): Key[] => {
      if (field.kind === 'list') return payload.links.get(name) ?? [];
      const value = payload.columns[field.column];
      return typeof value === 'string' || typeof value === 'number' ? [value] : [];
    });
    const existing = await existingKeys(tx, collections[field.target], [...new Set(used)]);
    const unknown = used.find((key) => !existing.has(key));
    if (unknown !== undefined) {
      throw new ApiError('INVALID_FOREIGN_KEY', { collection: collection.name, field: name, value: unknown });
    }
  }
}

async function insert(tx: Executor, collection: Collection, defaults: Columns, items: readonly { payload: Payload }[]) {
  const given = new Set(items.flatMap(({ payload }) => Object.keys(payload.columns)));
  const columns = [...new Set([...Object.keys(defaults), ...given])].filter((column) => column !== 'id');
  const records = items.map(({ payload }) => {
    const record = Object.fromEntries(
      columns.map((column) => [column, payload.columns[column] ?? defaults[column] ?? null]),
    );
    return collection.keyType === 'uuid' ? { id: payload.columns.id ?? randomUUID(), ...record } : record;
  });
  return insertRecords(tx, collection, records);
}

async function writeLinks(
  tx: Executor,
  collection: Collection,
  items: readonly { keys: readonly Key[]; payload: Payload }[],
): Promise<void> {
  for (const [name, field] of collection.fields) {
    if (field.kind !== 'list' || !field.held) continue;
    const links = items.flatMap(({ keys, payload }) => {
      const list = payload.links.get(name);
      return list ? keys.map((key) => [key, list] as const) : [];
    });
    await replaceLinks(tx, field, new Map(links));
  }
}

/** Rows to update, in batches that have the same columns. */
function sameColumns(items: readonly Change[]): (Columns & { id: Key })[][] {
  const batches = new Map<string, (Columns & { id: Key })[]>();
  for (const { keys, payload } of items) {
    const columns = Object.keys(payload.columns).sort().join();
    const batch = batches.get(columns) ?? [];
    for (const id of keys) batch.push({ ...payload.columns, id });
    batches.set(columns, batch);
  }
  return [...batches.values()];
}

/** The first field that a filter looks at. */
function fieldOf(filter: Filter): string | undefined {
  if ('filters' in filter) return filter.filters.map(fieldOf).find((field) => field !== undefined);
  return 'field' in filter ? filter.field : undefined;
}

const concealed = '**********';

/** Two requests at once may both pass the checks; then the database refuses one, which is told what the checks would have said. */
async function explained<T>(
  collection: Collection,
  items: readonly { input: Record<string, unknown> }[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const broken = brokenConstraint(error);
    if (!broken) throw error;
    const [name, field] = [...collection.fields].find(
      ([, candidate]) => candidate.kind === 'value' && broken.name.includes(`_${candidate.column}_`),
    ) ?? ['id'];
    const [first, ...others] = items.filter(({ input }) => input[name] !== undefined);
    const isConcealed = field?.kind === 'value' && field.concealed;
    const value = others.length > 0 ? null : isConcealed ? concealed : (first?.input[name] ?? null);
    const place = { collection: collection.name, field: name, value };
    throw broken.kind === 'unique'
      ? new ApiError('RECORD_NOT_UNIQUE', place)
      : new ApiError('INVALID_FOREIGN_KEY', place);
  }
}

const deadlock = '40P01';
const mostAttempts = 5;

/** A transaction that is begun anew when the database ended it because it and another waited for each other. */
async function transact<T>(db: Executor, work: (tx: Executor) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(work);
    } catch (error) {
      if (sqlStateOf(error) !== deadlock || attempt === mostAttempts) throw error;
    }
  }
}
