import { deleteGrant, listGrants } from '../../db/queries/applications/grants.js';
import { userExists } from '../../db/queries/users/users.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import type { Grant } from '../../schemas/grants.js';
import type { Principal } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';

/** Lists and withdraws the access that users have given to applications. */
export interface Grants {
  /** The caller's own grants, most recently used first; at most `maxListed`. */
  listOwn(caller: Principal): Promise<Grant[]>;
  /**
   * Withdraws one of the caller's grants. What was issued for it is rejected from the next request on.
   * @throws {ApiError} FORBIDDEN if the grant does not exist, or belongs to another user
   */
  withdrawOwn(caller: Principal, id: string): Promise<void>;
  /** The grants of any user, for administrators. @throws {ApiError} FORBIDDEN if the user does not exist */
  listOf(user: string): Promise<Grant[]>;
  /** The same as `withdrawOwn`, for administrators. */
  withdrawOf(caller: Principal, user: string, id: string): Promise<void>;
}

const maxListed = 1_000;

export function createGrants({ db, activity }: Services): Grants {
  const list = (user: string) => listGrants(db, user, maxListed);

  const withdraw = async (caller: Principal, user: string, id: string): Promise<void> => {
    await transact(db, async (tx) => {
      if ((await deleteGrant(tx, user, id)) === undefined) throw new ApiError('FORBIDDEN');
      const event = { action: 'application_withdraw', collection: 'grants', item: id.toLowerCase() } as const;
      await activity.record(tx, caller, [event]);
    });
  };

  return {
    listOwn: (caller) => list(caller.userId),
    withdrawOwn: (caller, id) => withdraw(caller, caller.userId, id),
    listOf: async (user) => {
      if (!(await userExists(db, user))) throw new ApiError('FORBIDDEN');
      return list(user);
    },
    withdrawOf: withdraw,
  };
}
