import plugin from 'fastify-plugin';
import { findRefreshableSession } from '../../db/queries/access/principals.js';
import { deleteExpiredSessions } from '../../db/queries/sessions/sessions.js';
import { hour } from '../platform/scheduler.js';
import { type ActiveSessions, createActiveSessions } from './active-sessions.js';
import { createArrivals, refreshLimits } from './arrivals.js';
import { createIssuing, type SessionIssuer } from './issuing.js';
import { knownBrowserPlugin } from './known-browser.js';
import { createLogin, type LogIn } from './login.js';
import { createPasskeyLogin, type LogInWithPasskey } from './passkey-login.js';
import { createRefresh, type SessionRefresh } from './refresh.js';
import { tokenTransportPlugin } from './token-transport.js';

declare module 'fastify' {
  interface FastifyInstance {
    sessions: Sessions;
    activeSessions: ActiveSessions;
  }
}

export interface Sessions extends SessionRefresh {
  login: LogIn;
  loginWithPasskey: LogInWithPasskey;
  begin: SessionIssuer['begin'];
}

/** An ID that no session has, for a statement that reads nothing. */
const noSession = '00000000-0000-0000-0000-000000000000';

/** `app.sessions`: login, refresh, logout. `app.activeSessions`: lists and ends sessions. Expired sessions are deleted every hour. */
export const sessionsPlugin = plugin(
  async (app) => {
    const {
      config,
      db,
      databaseConnection,
      passwords,
      passwordChecks,
      secondFactor,
      passkeyProofs,
      rateLimits,
      accessTokens,
      refreshTokens,
      clock,
      activity,
    } = app;
    await app.register(knownBrowserPlugin);
    await app.register(tokenTransportPlugin);
    const lifetimes = {
      accessToken: config.ACCESS_TOKEN_TTL,
      refreshToken: config.REFRESH_TOKEN_TTL,
      sessionCookie: config.SESSION_COOKIE_TTL,
      session: config.SESSION_MAX_AGE || null,
      gracePeriod: config.SESSION_REFRESH_GRACE_PERIOD,
    };
    const common = { accessTokens, refreshTokens, clock, activity, lifetimes };
    const issuing = createIssuing({ ...common, sessionsPerUser: config.SESSIONS_PER_USER });
    const { begin } = issuing;
    const { gracePeriod } = lifetimes;
    const arrivals = createArrivals(gracePeriod, () => findRefreshableSession(db, noSession));
    app.decorate('sessions', {
      begin,
      login: createLogin({ db, passwords, passwordChecks, secondFactor, begin }),
      loginWithPasskey: createPasskeyLogin({ db, passkeyProofs, secondFactor, rateLimits, begin }),
      ...createRefresh({
        ...common,
        db,
        issuing,
        arrivals,
        onUse: (userId) => app.lastAccess.touch(userId, 0),
        onReuse: (session) =>
          app.log.warn(session, 'a replaced refresh token or session cookie was used again: the session was ended'),
      }),
    });
    app.decorate('activeSessions', createActiveSessions({ db, clock, activity }));

    // The embedded engine serves only one instance, which knows which of its requests failed.
    if (databaseConnection.engine === 'postgres') {
      app.every(refreshLimits(gracePeriod).probeInterval, arrivals.probe, 'the database does not respond');
    }
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
      'webauthn',
      'rate-limits',
      'last-access',
      'activity',
    ],
  },
);
