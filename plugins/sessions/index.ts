import plugin from 'fastify-plugin';
import { deleteExpiredSessions } from '../../db/queries/sessions.js';
import { hour } from '../periodic.js';
import { createDoubts } from './doubts.js';
import { createOpenSessions, type OpenSessions } from './open-sessions.js';
import { createSessions, type Sessions } from './service.js';
import { sessionTransportPlugin } from './transport.js';

declare module 'fastify' {
  interface FastifyInstance {
    sessions: Sessions;
    openSessions: OpenSessions;
  }
}

/** `app.sessions`: login, refresh, logout. `app.openSessions`: who is signed in, and where. Expired sessions are cleared away every hour. */
export const sessionsPlugin = plugin(
  async (app) => {
    const { config, db, passwords, passwordChecks, secondFactor, accessTokens, refreshTokens, clock, activity } = app;
    await app.register(sessionTransportPlugin);
    const doubts = createDoubts(db, (session) =>
      app.log.info(session, 'a refresh whose commit had no answer is taken back'),
    );
    app.addHook('onClose', () => doubts.stop());
    const sessions = createSessions({
      db,
      doubts,
      passwords,
      passwordChecks,
      secondFactor,
      accessTokens,
      refreshTokens,
      clock,
      activity,
      lifetimes: {
        accessToken: config.ACCESS_TOKEN_TTL,
        refreshToken: config.REFRESH_TOKEN_TTL,
        sessionCookie: config.SESSION_COOKIE_TTL,
        gracePeriod: config.SESSION_REFRESH_GRACE_PERIOD,
      },
      onUse: (userId) => app.lastAccess.touch(userId, 0),
      onReuse: (session) => app.log.warn(session, 'a replaced refresh token was used again: its session is ended'),
    });
    app.decorate('sessions', sessions);
    app.decorate('openSessions', createOpenSessions({ db, clock, activity }));

    app.every(hour, () => deleteExpiredSessions(db, clock()), 'expired sessions could not be cleared away');
  },
  {
    name: 'sessions',
    dependencies: [
      'config',
      'database',
      'clock',
      'periodic',
      'tokens',
      'passwords',
      'password-checks',
      'tfa',
      'last-access',
      'activity',
    ],
  },
);
