import plugin from 'fastify-plugin';
import { touchSession } from '../db/queries/sessions.js';
import { touchLastAccess } from '../db/queries/users.js';

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

/**
 * `app.lastAccess`: keeps `last_access`, off the request's path; for plain requests at most once a minute (contract 4). The
 * same for the time and place of the last use of a session.
 */
export const lastAccessPlugin = plugin(
  async (app) => {
    const { db, clock } = app;
    const underWay = new Map<string, Promise<void>>();

    /** One at a time for each user or session; what comes meanwhile says the same. */
    const note = (key: string, write: () => Promise<void>) => {
      if (underWay.has(key)) return;
      const writing = write()
        .catch((error: unknown) => app.log.warn(error, 'the time of a use could not be written'))
        .finally(() => underWay.delete(key));
      underWay.set(key, writing);
    };
    const touch = (userId: string, interval: number) => {
      const now = clock();
      note(userId, () => touchLastAccess(db, userId, now, new Date(now.getTime() - interval)));
    };
    app.decorate('lastAccess', { touch });

    app.addHook('onResponse', async ({ principal, client }) => {
      if (!principal) return;
      const now = clock();
      const aMinuteAgo = now.getTime() - minute;
      const { userId, lastAccess, sessionId, sessionLastUsed } = principal;
      if (lastAccess === null || lastAccess <= aMinuteAgo) touch(userId, minute);
      if (sessionId && sessionLastUsed && sessionLastUsed < aMinuteAgo) {
        note(sessionId, () => touchSession(db, sessionId, client, now, new Date(aMinuteAgo)));
      }
    });
    // Hooks of this kind run last one first: the database, registered earlier, is still open.
    app.addHook('onClose', async () => {
      await Promise.all(underWay.values());
    });
  },
  { name: 'last-access', dependencies: ['database', 'clock'] },
);
