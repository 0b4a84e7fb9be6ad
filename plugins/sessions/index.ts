import { findRefreshableSession } from '../../db/queries/sessions/refresh.js';
import { deleteExpiredSessions } from '../../db/queries/sessions/sessions.js';
import { definePlugin } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { type ActiveSessions, createActiveSessions } from './active-sessions.js';
import { createArrivals, refreshLimits } from './arrivals.js';
import { createIssuing, type SessionIssuer } from './issuing.js';
import { createLogin, type LogIn } from './login.js';
import { createPasskeyLogin, type LogInWithPasskey } from './passkey-login.js';
import { createRefresh, type SessionRefresh } from './refresh.js';

declare module '../platform/plugin.js' {
  interface Services {
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
export const sessionsPlugin = definePlugin('sessions', (services) => {
  const { config, db, maintenanceDb, databaseConnection, clock, every } = services;
  const { SESSION_REFRESH_GRACE_PERIOD: gracePeriod, SESSION_MAX_AGE } = config;
  const issuing = createIssuing(services);
  const { begin } = issuing;
  const arrivals = createArrivals(gracePeriod, () => findRefreshableSession(db, noSession));

  // The embedded engine serves only one instance, which knows which of its requests failed.
  if (databaseConnection.engine === 'postgres') {
    every(refreshLimits(gracePeriod).probeInterval, arrivals.probe, 'the database does not respond');
  }
  const maxAge = SESSION_MAX_AGE || null;
  every(hour, () => deleteExpiredSessions(maintenanceDb, clock(), maxAge), 'expired sessions could not be deleted');
  const sessions: Sessions = {
    begin,
    login: createLogin(services, begin),
    loginWithPasskey: createPasskeyLogin(services, begin),
    ...createRefresh(services, issuing, arrivals),
  };
  return { sessions, activeSessions: createActiveSessions(services) };
});
