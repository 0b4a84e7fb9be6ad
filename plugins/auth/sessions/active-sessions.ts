import type { Executor } from '../../../db/client.js';
import {
  deleteSessionOf,
  deleteSessionsOf,
  listOpenSessions,
  type OpenSessionRecord,
} from '../../../db/queries/auth/sessions.js';
import { userExists } from '../../../db/queries/users/users.js';
import { transact } from '../../../db/transact.js';
import { uuidPattern } from '../../../schemas/common.js';
import { ApiError } from '../../../schemas/errors.js';
import type { Session } from '../../../schemas/sessions.js';
import type { Activity } from '../../activity/service.js';
import type { Clock } from '../../platform/clock.js';
import type { Principal } from '../../server/caller.js';
import { deviceOf } from '../../server/device.js';

/** Who is signed in where, and ending it. A session that was ended is refused from the next request on, in every mode. */
export interface OpenSessions {
  /** The caller's sessions, the latest used first; at most `mostListed`. */
  listOwn(caller: Principal): Promise<Session[]>;
  /**
   * Ends one of the caller's sessions; it may be the one that they call from.
   * @returns whether it was that one
   * @throws {ApiError} FORBIDDEN when it is none of the caller's, or has ended
   */
  endOwn(caller: Principal, id: string): Promise<boolean>;
  /** Ends all of the caller's sessions but the one that they call from, if they call from one. */
  endOthers(caller: Principal): Promise<void>;
  /** The same for any user, by an administrator. @throws {ApiError} FORBIDDEN */
  listOf(caller: Principal, userId: string): Promise<Session[]>;
  /** @throws {ApiError} FORBIDDEN */
  endOf(caller: Principal, userId: string, id: string): Promise<void>;
  /** Ends all sessions of a user: those of the caller too, should it be them. @throws {ApiError} FORBIDDEN */
  endAllOf(caller: Principal, userId: string): Promise<void>;
}

/** A user may log in as often as they like; nobody reads more than this. Ending all of them ends those not listed too. */
export const mostListed = 1000;

export function createOpenSessions(deps: {
  db: Executor;
  clock: Clock;
  activity: Pick<Activity, 'record'>;
}): OpenSessions {
  const { db, clock, activity } = deps;

  const list = async (userId: string, current: string | null): Promise<Session[]> => {
    const found = await listOpenSessions(db, userId, clock(), mostListed);
    return found.map((session) => shownOf(session, current));
  };

  const end = (caller: Principal, userId: string, id: string): Promise<void> =>
    db.transaction(async (tx) => {
      const isEnded = uuidPattern.test(id) && (await deleteSessionOf(tx, userId, id, clock()));
      if (!isEnded) throw new ApiError('FORBIDDEN');
      const item = id.toLowerCase();
      await activity.record(tx, caller, [{ action: 'session_end', collection: 'sessions', item }]);
    });

  const endAll = (caller: Principal, userId: string, kept: string | null): Promise<void> =>
    transact(db, async (tx) => {
      await deleteSessionsOf(tx, [userId], kept);
      await activity.record(tx, caller, [{ action: 'session_end', collection: 'users', item: userId.toLowerCase() }]);
    });

  /** Absent users are like those that one may not see. */
  const requireUser = async ({ admin }: Principal, userId: string): Promise<void> => {
    const mayGoOn = admin && uuidPattern.test(userId) && (await userExists(db, userId));
    if (!mayGoOn) throw new ApiError('FORBIDDEN');
  };

  return {
    listOwn: ({ userId, sessionId }) => list(userId, sessionId),

    endOwn: async (caller, id) => {
      await end(caller, caller.userId, id);
      return id.toLowerCase() === caller.sessionId;
    },

    endOthers: (caller) => endAll(caller, caller.userId, caller.sessionId),

    listOf: async (caller, userId) => {
      await requireUser(caller, userId);
      return list(userId, caller.sessionId);
    },

    endOf: async (caller, userId, id) => {
      await requireUser(caller, userId);
      await end(caller, userId, id);
    },

    endAllOf: async (caller, userId) => {
      await requireUser(caller, userId);
      await endAll(caller, userId, null);
    },
  };
}

const shownOf = (session: OpenSessionRecord, current: string | null): Session => ({
  id: session.id,
  device: deviceOf(session.userAgent),
  user_agent: session.userAgent,
  address: session.ip,
  created_at: session.createdAt,
  last_used_at: session.lastUsedAt,
  expires_at: session.expiresAt,
  current: session.id === current,
});
