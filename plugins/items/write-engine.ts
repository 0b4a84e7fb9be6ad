import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import {
  hasActiveAdministrator,
  listAdministration,
  lockAdministrators,
} from '../../db/queries/access/administrators.js';
import { type Columns, deleteRecords, type Key, updateRecords } from '../../db/queries/items/writes.js';
import { collections, type WritableCollection } from '../../db/query-language/collections.js';
import { rehearse, transact } from '../../db/transact.js';
import type { ActivityAction } from '../../schemas/activity.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import { requireHarmlessSettings } from '../access/public-rights.js';
import { variablesOf } from '../access/view.js';
import { type WriteGrant, writeGrantsOf } from '../access/write-grants.js';
import type { Activity, ActivityEvent } from '../activity/service.js';
import type { StepUp } from '../auth/step-up/service.js';
import type { Clock } from '../platform/clock.js';
import type { Caller } from '../server/caller.js';
import { names, requireRules, requireValid } from './grant-checks.js';
import { invalidPayload, type Payload, readPayload, requireFields, type SpecialFields } from './payload.js';
import { checkForeignKeys, checkNewKeys, explained } from './reference-checks.js';
import { insert, lockAll, rowsOf, writeLinks } from './stored-items.js';

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
  /** Fields, links included, whose change could give more rights to the public policy or to the role of new registrations. */
  carriesRights: ReadonlySet<string>;
  /**
   * Requires that the caller has proved their identity recently, where the changes need that. Before any costly work.
   * @param currentPassword that came with an update of the caller's own row
   */
  requireProof?(caller: Caller, changes: readonly Change[], currentPassword: string | undefined): Promise<void>;
  /** Fields that need costly work before they are written, such as hashing. */
  costly: ReadonlySet<string>;
  /**
   * Does that work and completes the payloads. Until then they hold something in its place. Called outside of any transaction,
   * and only when nothing else would refuse the request.
   * @param changes of what is created, none has a key yet
   */
  prepare?(caller: Caller, changes: readonly Change[]): Promise<void>;
  /**
   * Checks inside the transaction, the rows being locked already. It may be called twice, so it has no effects besides.
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

/** A change, and the fields that the caller gave: those that presets add need no grant. */
type Item = Change & { fields: readonly string[] };

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
    proof?: { currentPassword: string | undefined },
  ): Promise<void>;
  /** Deletes all of them, or none. */
  remove(caller: Caller, name: WritableCollection, keys: readonly Key[]): Promise<void>;
}

const forbidden = (reason?: string) => new ApiError('FORBIDDEN', reason === undefined ? {} : { reason });

export function createWrites(deps: {
  /** For one caller, who never holds more than a share of the connections. */
  dbOf(caller: Caller): Executor;
  clock: Clock;
  rules: Readonly<Record<WritableCollection, WriteRules>>;
  activity: Pick<Activity, 'record'>;
  stepUp: Pick<StepUp, 'isStale' | 'requireFreshOfAdministrator'>;
}): Writes {
  const { dbOf, clock, rules, activity, stepUp } = deps;

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
    requireFields(collections[name], merged, rules[name].special);
    const fields = Object.keys(given);
    // Every field is in the API reference, so the reason can name it.
    const withheld = fields.find((field) => !grants.some((grant) => names(grant, field)));
    if (withheld !== undefined) throw forbidden(`You may not write ${withheld} of ${name}`);
    const reserved = Object.keys(merged).find((field) => rules[name].adminOnly.has(field));
    if (!caller.admin && reserved !== undefined)
      throw forbidden(`Only an administrator may write ${reserved} of ${name}`);
    const payload = readPayload(collections[name], merged, rules[name].special);
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

  const touches = (items: readonly { input: object }[], fields: ReadonlySet<string>) =>
    items.some(({ input }) => Object.keys(input).some((field) => fields.has(field)));

  /** What must hold after the write: whoever gives administrator access in a session has proved their identity recently. */
  const proofForAdministration = async (
    tx: Executor,
    caller: Caller,
    name: WritableCollection,
    items: readonly { input: object }[],
  ): Promise<() => Promise<void>> => {
    const isSuspect = stepUp.isStale(caller) && touches(items, rules[name].carriesAdministrators);
    if (!isSuspect) return async () => {};
    const before = await listAdministration(tx);
    return async () => {
      const isGained = [...(await listAdministration(tx))].some((access) => !before.has(access));
      if (isGained) await stepUp.requireFreshOfAdministrator(caller, tx);
    };
  };

  /**
   * Checks and writes in one transaction. Costly work comes before it, so that nothing is locked meanwhile; and before that a
   * rehearsal, which is rolled back, so that a request that is refused costs none of that work.
   */
  const perform = async <T>(
    caller: Caller,
    name: WritableCollection,
    items: readonly Item[],
    write: (tx: Executor, changes: readonly Item[], isRehearsal: boolean) => Promise<T>,
  ): Promise<T> => {
    const { costly, prepare } = rules[name];
    const attempt = (run: typeof transact, isRehearsal: boolean) =>
      // Each attempt begins with what was asked for, because checks leave out what changes nothing.
      explained(collections[name], items, () => run(dbOf(caller), (tx) => write(tx, copiesOf(items), isRehearsal)));
    if (prepare && touches(items, costly)) {
      await attempt(rehearse, true);
      await prepare(caller, items);
    }
    caller.client.abandoned.throwIfAborted();
    return attempt(transact, false);
  };

  return {
    create: async (caller, name, inputs, { isBatch }) => {
      const grants = grantsFor(caller, name, 'create');
      if (inputs.length === 0) return [];
      const collection = collections[name];
      const form = isBatch ? 'batch' : 'one';
      const items = await inChunks(inputs, (chunk) =>
        chunk.map((input) => ({ keys: [], ...read(caller, name, grants, input, form) })),
      );
      return perform(caller, name, items, async (tx, changes, isRehearsal) => {
        await checkNewKeys(tx, collection, changes);
        await checkForeignKeys(tx, collection, changes);
        await rules[name].check?.(tx, caller, changes, 'create');
        const requireProof = await proofForAdministration(tx, caller, name, changes);
        const keys = await insert(tx, collection, rules[name].defaults, changes);
        const made = changes.map((item, index) => ({ ...item, keys: [keys[index] as Key] }));
        await writeLinks(tx, collection, made);
        await requireProof();
        await requireValid(tx, collection, made, await requireRules(tx, collection, made, grants));
        if (isRehearsal) return [];
        await rules[name].after?.(tx, caller, made, 'create');
        await record(tx, caller, name, made, () => 'create');
        return keys;
      });
    },

    update: async (caller, name, updates, { currentPassword } = { currentPassword: undefined }) => {
      const grants = grantsFor(caller, name, 'update');
      const collection = collections[name];
      const items = await inChunks(updates, (chunk) =>
        chunk.map(({ keys, input }) => ({ keys, ...read(caller, name, grants, input, 'update') })),
      );
      const keys = items.flatMap((item) => item.keys);
      if (keys.length === 0) return;
      if (new Set(keys).size < keys.length) throw invalidPayload('An item is named twice');
      // The proof may be a password, and to check it is costly, too.
      if (currentPassword !== undefined) await requireRules(dbOf(caller), collection, items, grants);
      await rules[name].requireProof?.(caller, items, currentPassword);
      const isDangerous = touches(items, rules[name].carriesAdministrators);
      const givesRights = touches(items, rules[name].carriesRights);
      await perform(caller, name, items, async (tx, changes, isRehearsal) => {
        if (isDangerous || givesRights) await lockAdministrators(tx);
        await lockAll(tx, collection, keys);
        const allowing = await requireRules(tx, collection, changes, grants);
        await checkForeignKeys(tx, collection, changes);
        await rules[name].check?.(tx, caller, changes, 'update');
        const asides = await rules[name].aside?.(tx, changes);
        const requireProof = await proofForAdministration(tx, caller, name, changes);
        await updateRecords(tx, collection, rowsOf(changes));
        await writeLinks(tx, collection, changes);
        await requireProof();
        await requireValid(tx, collection, changes, allowing);
        if (isDangerous) await protectAdministrators(tx);
        if (givesRights) await requireHarmlessSettings(tx);
        if (isRehearsal) return;
        await rules[name].after?.(tx, caller, changes, 'update');
        await record(tx, caller, name, changes, (change) => rules[name].updateAction?.(change) ?? 'update', asides);
      });
    },

    remove: async (caller, name, keys) => {
      const grants = grantsFor(caller, name, 'delete');
      if (keys.length === 0) return;
      const collection = collections[name];
      caller.client.abandoned.throwIfAborted();
      await transact(dbOf(caller), async (tx) => {
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

const copiesOf = (items: readonly Item[]): Item[] =>
  items.map((item) => ({ ...item, payload: { ...item.payload, columns: { ...item.payload.columns } } }));

/** The fields of which something was written; not those that were given as they stood there already. */
function writtenFields(name: WritableCollection, { input, payload: { columns, links } }: Change): string[] {
  const { fields } = collections[name];
  return Object.keys(input).filter((given) => {
    const field = fields.get(given);
    return links.has(given) || Object.hasOwn(columns, field?.kind === 'value' ? field.column : given);
  });
}
