import plugin from 'fastify-plugin';
import { deleteExpiredSessions } from '../../../db/queries/auth/sessions.js';
import { hour } from '../../platform/scheduler.js';
import { createOpenSessions, type OpenSessions } from './active-sessions.js';
import { createSessions, type Sessions } from './service.js';
import { sessionTransportPlugin } from './token-transport.js';

declare module 'fastify' {
  interface FastifyInstance {
    sessions: Sessions;
    openSessions: OpenSessions;
  }
}

/** `app.sessions`: login, refresh, logout. `app.openSessions`: lists and ends sessions. Expired sessions are deleted every hour. */
export const sessionsPlugin = plugin(
  async (app) => {
    const { config, db, passwords, passwordChecks, secondFactor, accessTokens, refreshTokens, clock, activity } = app;
    await app.register(sessionTransportPlugin);
    const sessions = createSessions({
      db,
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
        session: config.SESSION_MAX_AGE || null,
        gracePeriod: config.SESSION_REFRESH_GRACE_PERIOD,
      },
      sessionsPerUser: config.SESSIONS_PER_USER,
      onUse: (userId) => app.lastAccess.touch(userId, 0),
      onReuse: (session) =>
        app.log.warn(session, 'a replaced refresh token or session cookie was used again: the session is ended'),
    });
    app.decorate('sessions', sessions);
    app.decorate('openSessions', createOpenSessions({ db, clock, activity }));

    app.every(hour, () => deleteExpiredSessions(app.maintenanceDb, clock()), 'expired sessions could not be deleted');
  },
  {
    name: 'sessions',
    dependencies: [
      'config',
      'database',
      'clock',
      'scheduler',
      'tokens',
      'passwords',
      'password-checks',
      'second-factor',
      'last-access',
      'activity',
    ],
  },
);
