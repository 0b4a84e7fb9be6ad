import type { Executor } from '../../db/client.js';
import { collections } from '../../db/query-language/collections.js';
import { uuidPattern } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import { requireRightsOver } from '../access/account-rights.js';
import { variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import { requireRules, requireValid } from '../items/grant-checks.js';
import { lockAll } from '../items/stored-items.js';
import type { Principal } from '../server/caller.js';

/**
 * For operations on another user's account that have their own route. Administrators may call them, and so may callers who may
 * update a certain field of that user, unless the user has rights that the caller lacks. Locks the user's row.
 * @returns the id of the user as it is stored, and what remains to be checked after the write
 * @throws {ApiError} FORBIDDEN, also for an id that does not exist; the check that is returned: FAILED_VALIDATION
 */
export async function requireRightOverUser(
  tx: Executor,
  caller: Principal,
  id: string,
  field: 'tfa_secret' | 'status',
  now: Date,
): Promise<{ user: string; requireValid(): Promise<void> }> {
  const user = id.toLowerCase();
  const grants = writeGrantsOf(caller, 'users', 'update', variablesOf(caller, now));
  if (grants.length === 0 || !uuidPattern.test(id)) throw new ApiError('FORBIDDEN');
  if (user === caller.userId) throw new ApiError('FORBIDDEN', { reason: 'You may not do this to your own account' });
  await lockAll(tx, collections.users, [user]);
  const written = [{ keys: [user], fields: [field] }];
  const applied = await requireRules(tx, collections.users, written, grants);
  if (!caller.admin) await requireRightsOver(tx, caller, new Set([user]), now);
  return { user, requireValid: () => requireValid(tx, collections.users, written, applied) };
}
