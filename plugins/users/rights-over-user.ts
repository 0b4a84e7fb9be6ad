import type { Executor } from '../../db/client.js';
import { collections } from '../../db/query-language/collections.js';
import { ApiError } from '../../schemas/errors.js';
import { requireRightsOverUsers } from '../access/account-rights.js';
import { variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import type { Principal } from '../http/caller.js';
import { requireGrants, requireValid } from '../items/grant-checks.js';
import { lockAll } from '../items/stored-items.js';

/**
 * Authorizes an operation that has its own route and acts on another user's account. Administrators may call it. Other
 * callers need a permission to update the given field of that user, and all the rights that the user has. Locks the user's row.
 * @returns the user's id as it is stored, and a check to run after the write
 * @throws {ApiError} FORBIDDEN, also for an id that does not exist; the returned check throws FAILED_VALIDATION
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
  if (grants.length === 0) throw new ApiError('FORBIDDEN');
  if (user === caller.userId) throw new ApiError('FORBIDDEN', { reason: 'You cannot do this to your own account' });
  await lockAll(tx, collections.users, [user]);
  const written = [{ keys: [user], fields: [field] }];
  const applied = await requireGrants(tx, collections.users, written, grants);
  if (!caller.admin) await requireRightsOverUsers(tx, caller, new Set([user]), now);
  return { user, requireValid: () => requireValid(tx, collections.users, written, applied) };
}
