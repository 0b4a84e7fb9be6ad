import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import { hasActiveAdministrator, lockAdministrators } from '../../db/queries/administrators.js';
import { type Columns, deleteRecords, type Key, updateRecords } from '../../db/queries/writes.js';
import { collections, type WritableCollection } from '../../db/query-language/collections.js';
import { transact } from '../../db/transact.js';
import type { ActivityAction } from '../../schemas/activity.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { Caller } from '../access/service.js';
import { variablesOf } from '../access/view.js';
import { type WriteGrant, writeGrantsOf } from '../access/write-grants.js';
import type { Activity, ActivityEvent } from '../activity/service.js';
import type { Clock } from '../clock.js';
import { names, requireRules, requireValid } from './grant-checks.js';
import { invalidPayload, type Payload, readPayload, type SpecialFields } from './payload.js';
import { checkForeignKeys, checkNewKeys, explained } from './reference-checks.js';
import { insert, lockAll, sameColumns, writeLinks } from './stored-items.js';

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
  /** What the audit log calls an update, when it is more than that. */
  updateAction?(change: Change): ActivityAction;
  /** What those need to know who are told of an update, of the time before it: by key. */
  aside?(tx: Executor, changes: readonly Change[]): Promise<Asides>;
  /** What follows from a write, in its transaction. */
  after?(tx: Executor, caller: Caller, changes: readonly Change[], action: 'create' | 'update'): Promise<void>;
}

type Asides = ReadonlyMap<Key, NonNullable<ActivityEvent['aside']>>;

/** One payload, and the items that it goes to. */
export interface Change {
  keys: readonly Key[];
  payload: Payload;
  input: Record<string, unknown>;
}

export interface Writes {
  /** Creates all of them, or none. @returns their keys, in order */
  create(
    caller: Caller,
    name: WritableCollection,
    inputs: readonly unknown[],
    form: { isBatch: boolean },
  ): Promise<Key[]>;
  /** Updates all of them, or none. */
  update(
    caller: Caller,
    name: WritableCollection,
    updates: readonly { keys: readonly Key[]; input: unknown }[],
  ): Promise<void>;
  /** Deletes all of them, or none. */
  remove(caller: Caller, name: WritableCollection, keys: readonly Key[]): Promise<void>;
}

const forbidden = (reason?: string) => new ApiError('FORBIDDEN', reason === undefined ? {} : { reason });

export function createWrites(deps: {
  db: Executor;
  clock: Clock;
  rules: Readonly<Record<WritableCollection, WriteRules>>;
  activity: Pick<Activity, 'record'>;
}): Writes {
  const { db, clock, rules, activity } = deps;

  /** One row for each item; none for an item of which nothing was written. */
  const record = async (
    tx: Executor,
    caller: Caller,
    name: WritableCollection,
    changes: readonly Change[],
    actionOf: (change: Change) => ActivityAction,
    asides?: Asides,
  ) => {
    const events = await inChunks(changes, (chunk) =>
      chunk.flatMap((change) => {
        const changed = writtenFields(name, change);
        const action = actionOf(change);
        if (action !== 'create' && changed.length === 0) return [];
        return change.keys.map((item) => {
          const aside = asides?.get(item);
          return { action, collection: name, item, changed, ...(aside && { aside }) };
        });
      }),
    );
    await activity.record(tx, caller, events);
  };

  const grantsFor = (caller: Caller, name: WritableCollection, action: 'create' | 'update' | 'delete') => {
    const grants = writeGrantsOf(caller, name, action, variablesOf(caller, clock()));
    if (grants.length === 0) throw forbidden();
    return grants;
  };

  /** Reads one item of a request; each field of it must be named by one of the grants, on whichever items. */
  const read = (
    caller: Caller,
    name: WritableCollection,
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

  const touchesAdministrators = (name: WritableCollection, input: object) =>
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
          const made = items.map((item, index) => ({ ...item, keys: [keys[index] as Key] }));
          await writeLinks(tx, collection, made);
          await requireValid(tx, collection, made, await requireRules(tx, collection, made, grants));
          await rules[name].after?.(tx, caller, made, 'create');
          await record(tx, caller, name, made, () => 'create');
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
          const asides = await rules[name].aside?.(tx, items);
          for (const batch of sameColumns(items)) await updateRecords(tx, collection, batch);
          await writeLinks(tx, collection, items);
          await requireValid(tx, collection, items, allowing);
          if (isDangerous) await protectAdministrators(tx);
          await rules[name].after?.(tx, caller, items, 'update');
          await record(tx, caller, name, items, (change) => rules[name].updateAction?.(change) ?? 'update', asides);
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
        await activity.record(
          tx,
          caller,
          keys.map((item) => ({ action: 'delete', collection: name, item })),
        );
      });
    },
  };
}

/** The fields of which something was written; not those that were given as they stood there already. */
function writtenFields(name: WritableCollection, { input, payload: { columns, links } }: Change): string[] {
  const { fields } = collections[name];
  return Object.keys(input).filter((given) => {
    const field = fields.get(given);
    return links.has(given) || Object.hasOwn(columns, field?.kind === 'value' ? field.column : given);
  });
}
