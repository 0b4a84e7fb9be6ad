import plugin from 'fastify-plugin';
import { type SessionUse, type Use, writeUsesOfSessions, writeUsesOfUsers } from '../../db/queries/auth/last-used.js';
import { createTogether } from '../platform/batch-writer.js';

export interface LastAccess {
  /**
   * Notes that the user used the API just now, unless that was noted less than `interval` milliseconds ago. Returns at
   * once; the writing happens after.
   */
  touch(userId: string, interval: number): void;
}

declare module 'fastify' {
  interface FastifyInstance {
    lastAccess: LastAccess;
  }
}

const minute = 60_000;
/** Milliseconds between two writings under load. */
const pause = 100;

/** Of two uses the later one; it is due if either was. */
const laterOf = <Entry extends Use>(one: Entry, other: Entry): Entry => {
  const [earlier, later] = one.now <= other.now ? [one, other] : [other, one];
  return { ...later, before: earlier.before > later.before ? earlier.before : later.before };
};

/**
 * `app.lastAccess`: keeps `last_access`, off the request's path; for plain requests at most once a minute. The
 * same for the time and place of the last use of a session.
 */
export const lastAccessPlugin = plugin(
  async (app) => {
    const { db, clock } = app;
    const how = {
      merge: laterOf,
      pause,
      onFailure: (error: unknown) => app.log.warn(error, 'times of use could not be written'),
    };
    const users = createTogether<Use>({ ...how, write: (uses) => writeUsesOfUsers(db, uses) });
    const sessions = createTogether<SessionUse>({ ...how, write: (uses) => writeUsesOfSessions(db, uses) });

    const touch = (userId: string, interval: number) => {
      const now = clock();
      users.add(userId, { now, before: new Date(now.getTime() - interval) });
    };
    app.decorate('lastAccess', { touch });

    app.addHook('onResponse', async ({ principal, client }) => {
      if (!principal) return;
      const now = clock();
      const aMinuteAgo = now.getTime() - minute;
      const { userId, lastAccess, sessionId, sessionLastUsed } = principal;
      if (lastAccess === null || lastAccess <= aMinuteAgo) touch(userId, minute);
      if (sessionId && sessionLastUsed && sessionLastUsed < aMinuteAgo) {
        const { ip, userAgent } = client;
        sessions.add(sessionId, { now, before: new Date(aMinuteAgo), ip, userAgent });
      }
    });
    // Hooks of this kind run last one first: the database, registered earlier, is still open.
    app.addHook('onClose', async () => {
      await Promise.all([users.stop(), sessions.stop()]);
    });
  },
  { name: 'last-access', dependencies: ['database', 'clock'] },
);
