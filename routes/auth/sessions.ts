import type { App } from '../app.js';
import { endMyOtherSessions } from './end-my-other-sessions.js';
import { endMySession } from './end-my-session.js';
import { endSessionOfUser } from './end-session-of-user.js';
import { endSessionsOfUser } from './end-sessions-of-user.js';
import { listMySessions } from './list-my-sessions.js';
import { listSessionsOfUser } from './list-sessions-of-user.js';

/** Under `/users`. */
export async function sessionsRoutes(app: App): Promise<void> {
  listMySessions(app);
  endMySession(app);
  endMyOtherSessions(app);
  listSessionsOfUser(app);
  endSessionOfUser(app);
  endSessionsOfUser(app);
}
