import { inArray } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { permissions } from '../../schema.js';
import type { Key } from '../items/writes.js';

/** The rules of these permissions, with the collections to which they apply. */
export async function rulesOf(executor: Executor, keys: readonly Key[]) {
  const { collection, action, permissions: rule, validation, presets } = permissions;
  return executor
    .select({ collection, action, permissions: rule, validation, presets })
    .from(permissions)
    .where(inArray(permissions.id, keys.map(Number)));
}
