import type { Executor } from '../../db/client.js';
import type { ItemReach } from '../../db/queries/items/reach.js';
import {
  deleteMatchingSessions,
  deleteSessionOf,
  findActiveSession,
  listActiveSessions,
} from '../../db/queries/sessions/sessions.js';
import type { Filter } from '../../db/query-language/filter.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import type { SessionOfUser } from '../../schemas/sessions.js';
import { hasRightsOverUser } from '../access/account-rights.js';
import { readGrantsOf, variablesOf } from '../access/view.js';
import { writeGrantsOf } from '../access/write-grants.js';
import type { Caller, Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';
import { maxListed, toSession } from '../sessions/active-sessions.js';
import { readableFields } from './readable-fields.js';

/**
 * The sessions of any user. Callers who are not administrators need permissions on `sessions`, and all the rights of the user. The error
 * is the same whether the user does not exist, is out of reach, or has no such session.
 */
export interface SessionsOfUsers {
  /** The sessions that the caller may read, with the fields that they may read, most recently used first. @throws {ApiError} FORBIDDEN */
  list(caller: Principal, user: string): Promise<SessionOfUser[]>;
  /** @throws {ApiError} FORBIDDEN */
  end(caller: Principal, user: string, id: string): Promise<void>;
  /**
   * Ends all sessions of a user, if the caller may delete each of them. If the user is the caller, this includes the current session.
   * @throws {ApiError} FORBIDDEN
   */
  endAll(caller: Principal, user: string): Promise<void>;
  /**
   * Whether a caller reaches a session, and which rules of their permissions it matches.
   * @returns undefined if there is no such session
   */
  reach(
    tx: Executor,
    caller: Caller,
    id: string,
    rules: readonly (Filter | null)[],
    now: Date,
  ): Promise<Pick<ItemReach, 'isVisible' | 'matches'> | undefined>;
}

export function createSessionsOfUsers({ db, clock, activity }: Services): SessionsOfUsers {
  const isReached = (executor: Executor, caller: Caller, user: string, now: Date): Promise<boolean> =>
    hasRightsOverUser(executor, caller, user.toLowerCase(), now);

  const requireReach = async (executor: Executor, caller: Principal, user: string): Promise<void> => {
    if (!(await isReached(executor, caller, user, clock()))) throw new ApiError('FORBIDDEN');
  };

  const rulesToEnd = (caller: Principal) =>
    writeGrantsOf(caller, 'sessions', 'delete', variablesOf(caller, clock())).map(({ rule }) => rule);

  /** The entry names the user, and not a session, which is gone, so that it is in the history of the user. */
  const recordEnd = (tx: Executor, caller: Principal, user: string) =>
    activity.record(tx, caller, [{ action: 'session_end', collection: 'users', item: user.toLowerCase() }]);

  return {
    list: async (caller, user) => {
      await requireReach(db, caller, user);
      const now = clock();
      const grants = readGrantsOf(caller, 'sessions', variablesOf(caller, now));
      const rules = grants.map(({ rule }) => rule);
      const found = await listActiveSessions(db, user, now, maxListed, rules, rulesToEnd(caller));
      return found.map(({ matching, isWritable, ...session }) => ({
        ...readableFields(toSession(session, sessionIdOf(caller)), grants, matching),
        can_end: isWritable,
      }));
    },

    end: (caller, user, id) =>
      db.transaction(async (tx) => {
        await requireReach(tx, caller, user);
        if (!(await deleteSessionOf(tx, user, id, clock(), rulesToEnd(caller)))) throw new ApiError('FORBIDDEN');
        await recordEnd(tx, caller, user);
      }),

    endAll: (caller, user) =>
      transact(db, async (tx) => {
        await requireReach(tx, caller, user);
        if (!(await deleteMatchingSessions(tx, user, clock(), rulesToEnd(caller)))) throw new ApiError('FORBIDDEN');
        await recordEnd(tx, caller, user);
      }),

    reach: async (tx, caller, id, rules, now) => {
      const found = await findActiveSession(tx, id, now, rules);
      if (!found) return undefined;
      const { user, matching } = found;
      return { matches: matching, isVisible: matching.includes(true) && (await isReached(tx, caller, user, now)) };
    },
  };
}
