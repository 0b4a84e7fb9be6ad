import {
  type ActiveSessionRecord,
  deleteSessionOf,
  deleteSessionsOf,
  listActiveSessions,
} from '../../db/queries/sessions/sessions.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import type { Session } from '../../schemas/sessions.js';
import { deviceOf, type Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';

/** Lists and ends the caller's own active sessions. In every mode, an ended session is rejected from the next request on. */
export interface ActiveSessions {
  /** The caller's sessions, most recently used first; at most `maxListed`. */
  listOwn(caller: Principal): Promise<Session[]>;
  /**
   * Ends one of the caller's sessions, possibly the current one.
   * @returns whether it was the current one
   * @throws {ApiError} FORBIDDEN if the session belongs to another user, or has already ended
   */
  endOwn(caller: Principal, id: string): Promise<boolean>;
  /** Ends all of the caller's sessions except the current one, if there is one. */
  endOthers(caller: Principal): Promise<void>;
}

/** SESSIONS_PER_USER can allow more sessions, but no one needs a longer list. Ending all sessions also ends those not listed. */
export const maxListed = 1000;

export function createActiveSessions({ db, clock, activity }: Services): ActiveSessions {
  const list = async (userId: string, current: string | null): Promise<Session[]> => {
    const found = await listActiveSessions(db, userId, clock(), maxListed);
    return found.map((session) => toSession(session, current));
  };

  const end = (caller: Principal, userId: string, id: string): Promise<void> =>
    db.transaction(async (tx) => {
      if (!(await deleteSessionOf(tx, userId, id, clock()))) throw new ApiError('FORBIDDEN');
      const item = id.toLowerCase();
      await activity.record(tx, caller, [{ action: 'session_end', collection: 'sessions', item }]);
    });

  const endAll = (caller: Principal, userId: string, kept: string | null): Promise<void> =>
    transact(db, async (tx) => {
      await deleteSessionsOf(tx, [userId], kept);
      await activity.record(tx, caller, [{ action: 'session_end', collection: 'users', item: userId.toLowerCase() }]);
    });

  return {
    listOwn: (caller) => list(caller.userId, sessionIdOf(caller)),

    endOwn: async (caller, id) => {
      await end(caller, caller.userId, id);
      return id.toLowerCase() === sessionIdOf(caller);
    },

    endOthers: (caller) => endAll(caller, caller.userId, sessionIdOf(caller)),
  };
}

/** @param current the ID of the caller's own session, if they have one */
export const toSession = (session: ActiveSessionRecord, current: string | null): Session => ({
  id: session.id,
  device: deviceOf(session.userAgent),
  user_agent: session.userAgent,
  address: session.ip,
  created_at: session.createdAt,
  last_used_at: session.lastUsedAt,
  expires_at: session.expiresAt,
  current: session.id === current,
  applications: session.applications,
});
