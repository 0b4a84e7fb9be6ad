import type { Executor } from '../../db/client.js';
import { collections } from '../../db/query-language/collections.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../access/service.js';
import { variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import { requireRules, requireValid } from '../items/grant-checks.js';

/**
 * Whether a policy demands two-factor authentication of the caller. They may set it up whatever their permissions say, or
 * they could never do anything else.
 */
const isForced = ({ policies }: Principal): boolean => policies.some((policy) => policy.enforce_tfa);

/**
 * The caller must have the right to update their own `tfa_secret`, as for any other field of a user.
 * @returns what remains to be checked in the transaction, after the write: the validations of that right
 * @throws {ApiError} FORBIDDEN; the check returned: FAILED_VALIDATION
 */
export async function requireRightToSecret(
  db: Executor,
  caller: Principal,
  now: Date,
): Promise<(tx: Executor) => Promise<void>> {
  const grants = writeGrantsOf(caller, 'users', 'update', variablesOf(caller, now));
  if (grants.length === 0) throw new ApiError('FORBIDDEN');
  const written = [{ keys: [caller.userId], fields: ['tfa_secret'] }];
  const applied = await requireRules(db, collections.users, written, grants);
  return (tx) => requireValid(tx, collections.users, written, applied);
}

/** The same for what a policy may demand of the caller. */
export const requireRightUnlessForced = async (db: Executor, caller: Principal, now: Date) =>
  isForced(caller) ? async () => {} : requireRightToSecret(db, caller, now);
