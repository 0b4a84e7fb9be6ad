import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import type { PrincipalRecord } from '../../db/queries/access/principals.js';
import { type CheckedUser, recordLogin } from '../../db/queries/sessions/logins.js';
import type { Config } from '../../schemas/config.js';
import type { SessionMode } from '../../schemas/sessions.js';
import { type Client, deviceKeyOf, rightsOf } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import {
  authenticationMethodsOf,
  isVerifiedByPasskey,
  type ProvedFactors,
} from '../sign-in-methods/authentication-methods.js';
import { hashToken } from '../tokens/refresh-tokens.js';

/** The tokens of a new or refreshed session. In `session` mode, there is no refresh token. */
export interface IssuedSession {
  mode: SessionMode;
  accessToken: string;
  refreshToken: string | null;
  /** Lifetime of the access token in milliseconds. */
  expires: number;
  /** Lifetime of the credential that continues the session, and of its cookie, in milliseconds. */
  sessionExpires: number;
  /** The user who has just signed in. Absent if the session was refreshed. */
  signedIn?: string;
}

/** The current position in a session: which of its successive tokens is the current one, and until when it is valid. */
interface Position {
  id: string;
  generation: number;
  expiresAt: Date;
  createdAt: Date;
}

/** What a login changes, in addition to creating a session. */
export interface LoginChanges {
  /** What the user has proved. */
  proved: ProvedFactors;
  /** A new hash of the same password, which replaces the stored one. */
  newPassword?: string | null;
  /** Keys of the login attempts to clear. */
  counted?: readonly string[];
  /** Whether the user is notified of this login in any case, so that it sends no notice of a new network or device. */
  hasOwnNotice?: boolean;
}

export interface SessionIssuer {
  /**
   * Records a login and creates its session, for every login method, in a single statement.
   * @param user as read when the proof of their identity was checked
   * @returns undefined if the user has changed since, or is not active; in that case, nothing is written
   */
  begin(
    executor: Executor,
    user: CheckedUser,
    mode: SessionMode,
    client: Client,
    changes: LoginChanges,
  ): Promise<IssuedSession | undefined>;
  /** The next generation of a session, with its refresh token and its expiry. The session may end earlier. */
  next(
    session: { id: string; generation: number },
    mode: SessionMode,
  ): { generation: number; refreshToken: string | null; expiresAt: Date };
  /** Issues the tokens for a position in a session. */
  issue(
    mode: SessionMode,
    principal: PrincipalRecord,
    position: Position,
    refreshToken: string | null,
    client: Client,
  ): IssuedSession;
}

/** How long things last, in milliseconds. */
export const lifetimesOf = (config: Config) => ({
  accessToken: config.ACCESS_TOKEN_TTL,
  refreshToken: config.REFRESH_TOKEN_TTL,
  sessionCookie: config.SESSION_COOKIE_TTL,
  /** Maximum lifetime of a session, however often it is refreshed; null means unlimited. */
  session: config.SESSION_MAX_AGE || null,
  gracePeriod: config.SESSION_REFRESH_GRACE_PERIOD,
});

export function createIssuing({ config, accessTokens, refreshTokens, clock, activity }: Services): SessionIssuer {
  const lifetimes = lifetimesOf(config);
  const { SESSIONS_PER_USER: sessionsPerUser } = config;

  const after = (ms: number) => new Date(clock().getTime() + ms);
  const lifetimeOf = (mode: SessionMode) => (mode === 'session' ? lifetimes.sessionCookie : lifetimes.refreshToken);
  const maxAge = lifetimes.session ?? Number.POSITIVE_INFINITY;

  /** In `session` mode, there is no refresh token: the access token in the cookie takes its place. */
  const positionAt = (id: string, generation: number, mode: SessionMode) => ({
    id,
    generation,
    expiresAt: after(lifetimeOf(mode)),
    refreshToken: mode === 'session' ? null : refreshTokens.issue({ sessionId: id, generation }),
  });

  const issue: SessionIssuer['issue'] = (mode, principal, position, refreshToken, client) => {
    const rights = rightsOf(principal, client.ip);
    // Rounded to whole seconds, like the lifetimes of tokens and cookies.
    const left = Math.max(Math.ceil((position.createdAt.getTime() + maxAge - clock().getTime()) / 1000), 0) * 1000;
    const expires = Math.min(mode === 'session' ? lifetimes.sessionCookie : lifetimes.accessToken, left);
    const accessToken = accessTokens.issue(
      {
        id: principal.id,
        role: principal.role,
        app_access: rights.app,
        admin_access: rights.admin,
        session: position.id,
        ...(rights.mustSetUpTfa ? { enforce_tfa: true } : {}),
        ...(mode === 'session' ? { generation: position.generation } : {}),
      },
      mode === 'session' ? position.expiresAt : after(expires),
    );
    return { mode, accessToken, refreshToken, expires, sessionExpires: Math.min(lifetimeOf(mode), left) };
  };

  return {
    begin: async (executor, user, mode, client, changes) => {
      const { proved, newPassword = null, counted = [], hasOwnNotice = false } = changes;
      const now = clock();
      const { refreshToken, ...first } = positionAt(randomUUID(), 0, mode);
      const expiresAt = new Date(Math.min(first.expiresAt.getTime(), now.getTime() + maxAge));
      const position = { ...first, expiresAt, createdAt: now };
      const { ip, userAgent, network } = client;
      const session = {
        id: position.id,
        user: user.id,
        expiresAt,
        ip,
        userAgent,
        network,
        limit: sessionsPerUser,
        device: deviceKeyOf(userAgent),
        tokenHash: refreshToken && hashToken(refreshToken),
        isVerifiedByPasskey: isVerifiedByPasskey(proved),
        amr: authenticationMethodsOf(proved),
      };
      const event = { action: 'login', collection: 'users', item: user.id } as const;
      const principal = await activity.recordWith(executor, { userId: user.id, client }, event, async (tx, rows) => {
        const all = { ...session, activity: rows };
        const begun = await recordLogin(tx, user, { newPassword, counted }, all, now);
        return begun && { result: begun.principal, details: { isUnfamiliar: begun.isUnfamiliar && !hasOwnNotice } };
      });
      return principal && { ...issue(mode, principal, position, refreshToken, client), signedIn: user.id };
    },

    next: ({ id, generation }, mode) => positionAt(id, generation + 1, mode),
    issue,
  };
}
