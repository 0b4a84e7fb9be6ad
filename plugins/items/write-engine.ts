import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import {
  hasActiveAdministrator,
  listAdministration,
  lockAdministrators,
} from '../../db/queries/access/administrators.js';
import { type Columns, deleteRecords, type Key, updateRecords } from '../../db/queries/items/writes.js';
import { collections, type WritableCollection } from '../../db/query-language/collections.js';
import { dryRun, transact } from '../../db/statements.js';
import type { ActivityAction } from '../../schemas/activity.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import { assignableRoles, openRoles } from '../../schemas/provider-config.js';
import { providerRolesCheck, requireSafeSettings } from '../access/public-rights.js';
import { variablesOf } from '../access/view.js';
import { type WriteGrant, writeGrantsOf } from '../access/write-grants.js';
import type { EventDetails } from '../activity/service.js';
import type { Caller } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { requireGrants, requireValid } from './grant-checks.js';
import { invalidPayload, type Payload, readPayload, type SpecialFields } from './payload.js';
import { checkForeignKeys, checkNewKeys, withConstraintErrors } from './reference-checks.js';
import { insert, lockAll, rowsOf, writeLinks } from './stored-items.js';
import { presetsOf, requireWritable } from './writable-fields.js';

/** The rules specific to writing one collection. */
export interface WriteRules {
  special: SpecialFields;
  /** Fields that only an administrator may write, on create and on update. */
  adminOnly: ReadonlySet<string>;
  /** Column values of a new item, unless the caller provides others. */
  defaults: Columns;
  /** Fields required to create an item. A batch can require different fields than a single item. */
  required(input: Record<string, unknown>, isBatch: boolean): readonly string[];
  /** Fields, including links, whose change can remove the last administrator. A deletion always can. */
  affectsAdministrators: ReadonlySet<string>;
  /** Fields, including links, whose change can add rights to the public policy or to the role of new registrations. */
  affectsRights: ReadonlySet<string>;
  /**
   * Requires that the caller has proved their identity recently, if the changes need that. Runs before any costly work.
   * @param currentPassword the password sent with an update of the caller's own row
   */
  requireProof?(caller: Caller, changes: readonly Change[], currentPassword: string | undefined): Promise<void>;
  /** Fields that need costly work before they are written, such as hashing. */
  costly: ReadonlySet<string>;
  /**
   * Does the costly work and completes the payloads, which contain placeholders until then. Called outside any transaction, and
   * only if the request has passed all other checks.
   * @param changes when items are created, they have no keys yet
   */
  prepare?(caller: Caller, changes: readonly Change[]): Promise<void>;
  /**
   * Checks the changes inside the transaction, after the rows are locked. It can be called twice for one request, so it must not
   * have other effects.
   * @param changes when items are created, they have no keys yet
   */
  check?(
    tx: Executor,
    caller: Caller,
    changes: readonly Change[],
    action: 'create' | 'update' | 'delete',
  ): Promise<void>;
  /**
   * Deletes items that must not prevent the changes. Runs inside the transaction, before the checks.
   * @returns the keys of the deleted items, whose deletion the audit log records
   */
  makeWay?(tx: Executor, caller: Caller, changes: readonly Change[]): Promise<readonly Key[]>;
  /** The action that the audit log records for an update, if it is more specific than `update`. */
  updateAction?(change: Change): ActivityAction;
  /** The state before an update, by item key, for the listeners that notify users of it. */
  details?(tx: Executor, changes: readonly Change[]): Promise<DetailsByKey>;
  /**
   * Applies the consequences of a write, in the same transaction.
   * @returns what the response to a creation contains in addition to the stored fields
   */
  after?(
    tx: Executor,
    caller: Caller,
    changes: readonly Change[],
    action: 'create' | 'update',
  ): Promise<AddedFields | undefined>;
  /** What the response to an update contains in addition to the stored fields of one of the items. */
  added?(
    caller: Caller,
    updates: readonly { keys: readonly Key[]; input: object }[],
  ): Promise<{ key: Key; fields: Record<string, unknown> } | undefined>;
}

/** Fields that are not stored, by item key. */
export type AddedFields = ReadonlyMap<Key, Record<string, unknown>>;

type DetailsByKey = ReadonlyMap<Key, EventDetails>;

/** One payload, and the keys of the items that it is written to. */
export interface Change {
  keys: readonly Key[];
  payload: Payload;
  input: Record<string, unknown>;
}

/** A change, and the fields that the caller provided. Fields that presets add need no grant. */
type Item = Change & { fields: readonly string[] };

export interface Writes {
  /** Creates all items or none. @returns their keys, in order, and what the response contains in addition to their stored fields */
  create(
    caller: Caller,
    name: WritableCollection,
    inputs: readonly unknown[],
    form: { isBatch: boolean },
  ): Promise<{ keys: readonly Key[]; added?: AddedFields | undefined }>;
  /** Updates all items or none. */
  update(
    caller: Caller,
    name: WritableCollection,
    updates: readonly { keys: readonly Key[]; input: unknown }[],
    proof?: { currentPassword: string | undefined },
  ): Promise<void>;
  /** Deletes all items or none. */
  remove(caller: Caller, name: WritableCollection, keys: readonly Key[]): Promise<void>;
}

/** What writes need of other services. A rehearsal replaces some of it. */
export interface WriteServices extends Pick<Services, 'config' | 'dbOf' | 'clock'> {
  activity: Pick<Services['activity'], 'record'>;
  stepUp: Pick<Services['stepUp'], 'isStale' | 'requireFreshAdministrator'>;
}

export function createWrites(
  { config, dbOf, clock, activity, stepUp }: WriteServices,
  rules: Readonly<Record<WritableCollection, WriteRules>>,
): Writes {
  const { AUTH_PASSKEYS: acceptsPasskeys } = config;
  /** Roles that providers can give to users. Their rights count as if somebody had them. */
  const assignable = config.PROVIDERS.flatMap(assignableRoles);
  /** Roles that anyone can get through a provider. */
  const open = config.PROVIDERS.flatMap(openRoles);

  /** Records one row for each item. An update that wrote no field is not recorded. */
  const record = async (
    tx: Executor,
    caller: Caller,
    name: WritableCollection,
    changes: readonly Change[],
    actionOf: (change: Change) => ActivityAction,
    detailsByKey?: DetailsByKey,
  ) => {
    const events = await inChunks(changes, (chunk) =>
      chunk.flatMap((change) => {
        const changed = writtenFields(name, change);
        const action = actionOf(change);
        if (action !== 'create' && changed.length === 0) return [];
        return change.keys.map((item) => {
          const details = detailsByKey?.get(item);
          return { action, collection: name, item, changed, ...(details && { details }) };
        });
      }),
    );
    await activity.record(tx, caller, events);
  };

  const recordDeletion = async (tx: Executor, caller: Caller, name: WritableCollection, keys: readonly Key[] = []) =>
    activity.record(
      tx,
      caller,
      keys.map((item) => ({ action: 'delete', collection: name, item })),
    );

  const grantsFor = (caller: Caller, name: WritableCollection, action: 'create' | 'update' | 'delete') => {
    const grants = writeGrantsOf(caller, name, action, variablesOf(caller, clock()));
    if (grants.length === 0) throw new ApiError('FORBIDDEN');
    return grants;
  };

  /** Validates one item of a request. Each field must be named by one of the grants; the rules of the grants are checked later. */
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
    const merged = isNew ? { ...presetsOf(grants), ...given } : given;
    requireWritable(caller, collections[name], rules[name], grants, { given, merged });
    const fields = Object.keys(given);
    const payload = readPayload(collections[name], merged, rules[name].special);
    if (isNew) {
      const missing = rules[name].required(merged, form === 'batch').find((field) => (merged[field] ?? null) === null);
      if (missing !== undefined) throw invalidPayload(`A new item of ${name} requires ${missing}`);
    }
    return { payload, fields, input: merged };
  };

  const protectAdministrators = async (tx: Executor) => {
    if (await hasActiveAdministrator(tx, acceptsPasskeys)) return;
    throw new ApiError('UNPROCESSABLE_CONTENT', { reason: 'At least one active administrator must remain' });
  };

  const touches = (items: readonly { input: object }[], fields: ReadonlySet<string>) =>
    items.some(({ input }) => Object.keys(input).some((field) => fields.has(field)));

  /**
   * Returns a check to run after the write: a session can be used to grant administrator access only if its user has proved their
   * identity recently.
   */
  const freshnessCheckForAdminGrants = async (
    tx: Executor,
    caller: Caller,
    name: WritableCollection,
    items: readonly { input: object }[],
  ): Promise<() => Promise<void>> => {
    const isSuspect = stepUp.isStale(caller) && touches(items, rules[name].affectsAdministrators);
    if (!isSuspect) return async () => {};
    const before = await listAdministration(tx, assignable);
    return async () => {
      const after = await listAdministration(tx, assignable);
      const isGained = [...after].some((access) => !before.has(access));
      if (isGained) await stepUp.requireFreshAdministrator(caller, tx);
    };
  };

  /**
   * Checks and writes in one transaction. Costly work runs before the transaction, so that no rows are locked during it. A
   * rehearsal, which is rolled back, runs before the costly work, so that rejected requests never cause that work.
   */
  const perform = async <T>(
    caller: Caller,
    name: WritableCollection,
    items: readonly Item[],
    write: (tx: Executor, changes: readonly Item[], isRehearsal: boolean) => Promise<T>,
  ): Promise<T> => {
    const { costly, prepare } = rules[name];
    const attempt = (run: typeof transact, isRehearsal: boolean) =>
      // Each attempt starts with copies of the requested changes, because the checks remove values that change nothing.
      withConstraintErrors(collections[name], items, () =>
        run(dbOf(caller), (tx) => write(tx, copiesOf(items), isRehearsal)),
      );
    if (prepare && touches(items, costly)) {
      await attempt(dryRun, true);
      await prepare(caller, items);
    }
    caller.client.abandoned.throwIfAborted();
    return attempt(transact, false);
  };

  return {
    create: async (caller, name, inputs, { isBatch }) => {
      const grants = grantsFor(caller, name, 'create');
      if (inputs.length === 0) return { keys: [] };
      const collection = collections[name];
      const form = isBatch ? 'batch' : 'one';
      const items = await inChunks(inputs, (chunk) =>
        chunk.map((input) => ({ keys: [], ...read(caller, name, grants, input, form) })),
      );
      const givesRights = touches(items, rules[name].affectsRights);
      return perform(caller, name, items, async (tx, changes, isRehearsal) => {
        if (givesRights) await lockAdministrators(tx);
        const deleted = await rules[name].makeWay?.(tx, caller, changes);
        await checkNewKeys(tx, collection, changes);
        await checkForeignKeys(tx, collection, changes);
        await rules[name].check?.(tx, caller, changes, 'create');
        const requireProof = await freshnessCheckForAdminGrants(tx, caller, name, changes);
        // Settings can only name roles that exist, but the configuration can name a role before it exists.
        const requireSafeProviderRoles = await providerRolesCheck(tx, givesRights ? open : []);
        const keys = await insert(tx, collection, rules[name].defaults, changes);
        const made = changes.map((item, index) => ({ ...item, keys: [keys[index] as Key] }));
        await writeLinks(tx, collection, made);
        await requireProof();
        await requireSafeProviderRoles();
        await requireValid(tx, collection, made, await requireGrants(tx, collection, made, grants));
        if (isRehearsal) return { keys: [] };
        await recordDeletion(tx, caller, name, deleted);
        const added = await rules[name].after?.(tx, caller, made, 'create');
        await record(tx, caller, name, made, () => 'create');
        return { keys, added };
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
      if (new Set(keys).size < keys.length) throw invalidPayload('The same item occurs more than once');
      // The proof can be a password, which is costly to verify, so the grants are checked first.
      if (currentPassword !== undefined) await requireGrants(dbOf(caller), collection, items, grants);
      await rules[name].requireProof?.(caller, items, currentPassword);
      const isDangerous = touches(items, rules[name].affectsAdministrators);
      const givesRights = touches(items, rules[name].affectsRights);
      await perform(caller, name, items, async (tx, changes, isRehearsal) => {
        // Changes to policies wait here. Otherwise, a policy and the version of all grants could be locked in different orders.
        if (isDangerous || givesRights || name === 'policies') await lockAdministrators(tx);
        await lockAll(tx, collection, keys);
        const allowing = await requireGrants(tx, collection, changes, grants);
        const deleted = await rules[name].makeWay?.(tx, caller, changes);
        await checkForeignKeys(tx, collection, changes);
        await rules[name].check?.(tx, caller, changes, 'update');
        const details = await rules[name].details?.(tx, changes);
        const requireProof = await freshnessCheckForAdminGrants(tx, caller, name, changes);
        const requireSafeProviderRoles = await providerRolesCheck(tx, givesRights ? open : []);
        await updateRecords(tx, collection, rowsOf(changes));
        await writeLinks(tx, collection, changes);
        await requireProof();
        await requireValid(tx, collection, changes, allowing);
        if (isDangerous) await protectAdministrators(tx);
        if (givesRights) await requireSafeSettings(tx);
        await requireSafeProviderRoles();
        if (isRehearsal) return;
        await recordDeletion(tx, caller, name, deleted);
        await rules[name].after?.(tx, caller, changes, 'update');
        await record(tx, caller, name, changes, (change) => rules[name].updateAction?.(change) ?? 'update', details);
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
        await requireGrants(tx, collection, [{ keys, fields: [] }], grants);
        const empty = { columns: {}, links: new Map() };
        await rules[name].check?.(tx, caller, [{ keys, payload: empty, input: {} }], 'delete');
        await deleteRecords(tx, collection, keys);
        await protectAdministrators(tx);
        await recordDeletion(tx, caller, name, keys);
      });
    },
  };
}

const copiesOf = (items: readonly Item[]): Item[] =>
  items.map((item) => ({ ...item, payload: { ...item.payload, columns: { ...item.payload.columns } } }));

/** The fields that were written, without those whose provided value was already stored. */
function writtenFields(name: WritableCollection, { input, payload: { columns, links } }: Change): string[] {
  const { fields } = collections[name];
  return Object.keys(input).filter((given) => {
    const field = fields.get(given);
    return links.has(given) || Object.hasOwn(columns, field?.kind === 'value' ? field.column : given);
  });
}
