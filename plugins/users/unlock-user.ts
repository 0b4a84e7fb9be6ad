import { administratorsAmong } from '../../db/queries/access/administrators.js';
import { readAccountStates } from '../../db/queries/mail/recipients.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { requireRightOverUser } from './rights-over-user.js';

/**
 * Resets the count of wrong passwords for another user's account.
 * @throws {ApiError} FORBIDDEN, FAILED_VALIDATION; REAUTHENTICATION_REQUIRED when the user is an administrator
 */
export type UnlockUser = (caller: Principal, id: string) => Promise<void>;

export function createUnlockUser({ dbOf, clock, stepUp, lockouts, activity }: Services): UnlockUser {
  return (caller, id) =>
    dbOf(caller).transaction(async (tx) => {
      const { user, requireValid } = await requireRightOverUser(tx, caller, id, 'status', clock());
      // Otherwise a stolen token of one administrator would allow guessing the password of another one without limit.
      if ((await administratorsAmong(tx, [user])).size > 0) await stepUp.requireFreshAdministrator(caller, tx);
      const [state] = await readAccountStates(tx, [user]);
      if (!state) throw new ApiError('FORBIDDEN');
      await requireValid();
      await lockouts.unlock(tx, state);
      await activity.record(tx, caller, [{ action: 'unlock', collection: 'users', item: user }]);
    });
}
