import {
  type SessionUse,
  type Use,
  writeUsesOfSessions,
  writeUsesOfUsers,
} from '../../db/queries/sessions/last-used.js';
import type { Principal } from '../http/caller.js';
import { sessionOf } from '../http/credential.js';
import { createBatchWriter } from '../platform/batch-writer.js';
import { definePlugin } from '../platform/plugin.js';

export interface LastAccess {
  /**
   * Records that the user has just used the API, unless this was recorded less than `interval` milliseconds ago. Returns
   * immediately. The database is updated later, in a batch.
   */
  touch(userId: string, interval: number): void;
  /** Records that a user made a request, at most once a minute for the user and for their session. */
  recordRequest(principal: Principal): void;
}

declare module '../platform/plugin.js' {
  interface Services {
    lastAccess: LastAccess;
  }
}

const minute = 60_000;
/** Milliseconds between two batches under load. */
const pause = 100;

/** Merges two uses into the later one. The result is due to be written if either of them was due. */
const laterOf = <Entry extends Use>(one: Entry, other: Entry): Entry => {
  const [earlier, later] = one.now <= other.now ? [one, other] : [other, one];
  return { ...later, before: earlier.before > later.before ? earlier.before : later.before };
};

/**
 * `app.lastAccess`: updates, in the background, the `last_access` of users and the time of last use of their sessions, with the IP
 * address and user agent.
 */
export const lastAccessPlugin = definePlugin('sessions/last-access', ({ db, clock }, app) => {
  const how = {
    merge: laterOf,
    pause,
    onFailure: (error: unknown) => app.log.warn(error, 'the times of last use could not be written'),
  };
  const users = createBatchWriter<Use>({ ...how, write: (uses) => writeUsesOfUsers(db, uses) });
  const sessions = createBatchWriter<SessionUse>({ ...how, write: (uses) => writeUsesOfSessions(db, uses) });

  const touch = (userId: string, interval: number) => {
    const now = clock();
    users.add(userId, { now, before: new Date(now.getTime() - interval) });
  };
  const recordRequest = (caller: Principal) => {
    const { userId, lastAccess, client } = caller;
    const session = sessionOf(caller);
    const now = clock();
    const aMinuteAgo = now.getTime() - minute;
    if (lastAccess === null || lastAccess <= aMinuteAgo) touch(userId, minute);
    if (session && session.lastUsed < aMinuteAgo) {
      const { ip, userAgent } = client;
      sessions.add(session.id, { now, before: new Date(aMinuteAgo), ip, userAgent });
    }
  };
  // `onClose` hooks run in reverse order, so the database, which was registered earlier, is still open.
  app.addHook('onClose', async () => {
    await Promise.all([users.stop(), sessions.stop()]);
  });
  return { lastAccess: { touch, recordRequest } };
});
