import { administratorsAmong } from '../../db/queries/access/administrators.js';
import { readAccountStates } from '../../db/queries/mail/recipients.js';
import { removeTfa } from '../../db/queries/second-factor/two-factor.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { requireRightOverUser } from './rights-over-user.js';

/**
 * Turns two-factor authentication off for another user, and ends all their sessions.
 * @throws {ApiError} FORBIDDEN, FAILED_VALIDATION; REAUTHENTICATION_REQUIRED when the user is an administrator
 */
export type DisableTwoFactor = (caller: Principal, id: string) => Promise<void>;

export function createDisableTwoFactor({ dbOf, clock, stepUp, activity }: Services): DisableTwoFactor {
  return (caller, id) =>
    dbOf(caller).transaction(async (tx) => {
      const { user, requireValid } = await requireRightOverUser(tx, caller, id, 'tfa_secret', clock());
      const isAdministrator = (await administratorsAmong(tx, [user])).size > 0;
      if (isAdministrator) await stepUp.requireFreshAdministrator(caller, tx);
      const [former] = await readAccountStates(tx, [user]);
      if (!former || !(await removeTfa(tx, user))) throw new ApiError('FORBIDDEN');
      await requireValid();
      await deleteSessionsOf(tx, [user], null);
      await activity.record(tx, caller, [
        { action: 'tfa_disable', collection: 'users', item: user, details: { former } },
      ]);
    });
}
