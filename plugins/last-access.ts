import plugin from 'fastify-plugin';
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

/** `app.lastAccess`: keeps `last_access`, off the request's path; for plain requests at most once a minute (contract 4). */
export const lastAccessPlugin = plugin(
  async (app) => {
    const { db, clock } = app;
    const underWay = new Map<string, Promise<void>>();

    const touch = (userId: string, interval: number) => {
      if (underWay.has(userId)) return;
      const now = clock();
      const writing = touchLastAccess(db, userId, now, new Date(now.getTime() - interval))
        .catch((error: unknown) => app.log.warn(error, 'last_access could not be written'))
        .finally(() => underWay.delete(userId));
      underWay.set(userId, writing);
    };
    app.decorate('lastAccess', { touch });

    app.addHook('onResponse', async (request) => {
      const { principal } = request;
      if (
        principal &&
        (principal.lastAccess === null || clock().getTime() - principal.lastAccess.getTime() >= minute)
      ) {
        touch(principal.userId, minute);
      }
    });
    // Hooks of this kind run last one first: the database, registered earlier, is still open.
    app.addHook('onClose', async () => {
      await Promise.all(underWay.values());
    });
  },
  { name: 'last-access', dependencies: ['database', 'clock'] },
);
