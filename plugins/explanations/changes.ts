import type { Executor } from '../../db/client.js';
import { existingKeys, type Key } from '../../db/queries/items/writes.js';
import { collections, type WritableCollection } from '../../db/query-language/collections.js';
import type { Changes } from '../../schemas/explanations.js';
import type { Caller } from '../http/caller.js';
import { invalidPayload, readKey } from '../items/payload.js';
import { createWrites, type WriteRules, type WriteServices, type Writes } from '../items/write-engine.js';

/** Maximum number of items in the changes of one question, so that a rehearsal is short even on the embedded engine. */
const maxChanges = 50;

/** Nothing happens, so nothing is announced, and no recent proof of identity is required. */
const rehearsal: Pick<WriteServices, 'activity' | 'stepUp'> = {
  activity: { record: async () => {} },
  stepUp: { isStale: () => false, requireFreshAdministrator: async () => {} },
};

/**
 * Makes changes to roles, policies and permissions in a transaction that the caller of this function rolls back. They pass through
 * everything that real writes pass through, so invalid changes are rejected with the same errors.
 * @returns for each permission that was created, its index in the changes
 */
export async function rehearse(
  tx: Executor,
  caller: Caller,
  { policies = [], roles = [], permissions = [], deleted = {} }: Changes,
  services: Pick<WriteServices, 'config' | 'clock'>,
  rules: Readonly<Record<WritableCollection, WriteRules>>,
): Promise<ReadonlyMap<Key, number>> {
  const removals: [Changed, readonly Key[]][] = [
    ['permissions', deleted.permissions ?? []],
    ['roles', deleted.roles ?? []],
    ['policies', deleted.policies ?? []],
  ];
  const count = policies.length + roles.length + permissions.length + removals.flatMap(([, keys]) => keys).length;
  if (count > maxChanges) throw invalidPayload(`changes can contain at most ${maxChanges} items`);
  const writes = createWrites({ ...services, ...rehearsal, dbOf: () => tx }, rules);
  await save(tx, writes, caller, 'policies', policies);
  // One by one, because a role can refer to one before it.
  for (const role of roles) await save(tx, writes, caller, 'roles', [role]);
  const created = await save(tx, writes, caller, 'permissions', permissions);
  for (const [name, keys] of removals) {
    await writes.remove(caller, name, [...new Set(keys.map((key) => keyOf(name, key)))]);
  }
  return created;
}

type Changed = 'policies' | 'roles' | 'permissions';

/**
 * Updates the items that exist, and creates the others.
 * @returns for each item that was created, its index
 */
async function save(
  tx: Executor,
  writes: Writes,
  caller: Caller,
  name: Changed,
  items: readonly Record<string, unknown>[],
): Promise<ReadonlyMap<Key, number>> {
  const keys = items.map(({ id }) => (id === undefined ? undefined : keyOf(name, id)));
  const existing = await existingKeys(
    tx,
    collections[name],
    keys.filter((key) => key !== undefined),
  );
  // The service chooses the IDs of permissions, so an unknown one is a mistake.
  const isNew = (key: Key | undefined) => key === undefined || (name !== 'permissions' && !existing.has(key));
  const created = items.flatMap((input, index) => (isNew(keys[index]) ? [{ input, index }] : []));
  const updated = items.flatMap((input, index) => {
    const key = keys[index];
    return key !== undefined && !isNew(key) ? [{ keys: [key], input }] : [];
  });
  const made = await writes.create(
    caller,
    name,
    created.map(({ input }) => input),
    { isBatch: true },
  );
  await writes.update(caller, name, updated);
  return new Map(made.keys.map((key, position) => [key, created[position]?.index ?? 0]));
}

function keyOf(name: Changed, value: unknown): Key {
  const key = readKey(collections[name], value);
  if (key === undefined)
    throw invalidPayload(`changes: ${String(value).slice(0, 64)} is not the ID of one of the ${name}`);
  return key;
}
