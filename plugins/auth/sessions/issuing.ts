import { randomUUID } from 'node:crypto';
import type { Executor } from '../../../db/client.js';
import type { PrincipalRecord } from '../../../db/queries/access/principals.js';
import {
  beginSession,
  type CheckedUser,
  type NewSession,
  recordLoginAndBeginSession,
} from '../../../db/queries/auth/logins.js';
import { ApiError } from '../../../schemas/errors.js';
import type { SessionMode } from '../../../schemas/sessions.js';
import type { Activity } from '../../activity/service.js';
import type { Clock } from '../../platform/clock.js';
import { rightsOf } from '../../server/caller.js';
import type { Client } from '../../server/client-info.js';
import type { AccessTokens } from '../../tokens/access-tokens.js';
import { hashToken, type RefreshTokens } from '../../tokens/refresh-tokens.js';

/** The tokens of a new or refreshed session. In mode `session`, there is no refresh token. */
export interface IssuedSession {
  mode: SessionMode;
  accessToken: string;
  refreshToken: string | null;
  /** Lifetime of the access token in milliseconds. */
  expires: number;
  /** Lifetime of the credential that continues the session, and of its cookie, in milliseconds. */
  sessionExpires: number;
}

/** The current position in a session: which of its successive tokens is the current one, and until when it is valid. */
interface Position {
  id: string;
  generation: number;
  expiresAt: Date;
  createdAt: Date;
}

/** The user whose session begins, and how its tokens travel. */
export interface NewLogin {
  userId: string;
  mode: SessionMode;
}

export interface Issuing {
  /**
   * Creates a session for a user, in the transaction of their login.
   * @throws {ApiError} INVALID_CREDENTIALS if the user is not active
   */
  begin(tx: Executor, login: NewLogin, client: Client): Promise<IssuedSession>;
  /**
   * Records a login and creates its session in a single statement. Without further changes, a login needs no transaction.
   * @param user as read when the password was checked
   * @param changes.newPassword a new hash of the same password, which replaces the stored one
   * @param changes.counted keys of the attempts to clear
   * @returns undefined if the user has changed since the check; in that case, nothing is written
   */
  recordAndBegin(
    user: CheckedUser,
    changes: { newPassword: string | null; counted: readonly string[] },
    mode: SessionMode,
    client: Client,
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

export interface IssuingDependencies {
  accessTokens: AccessTokens;
  refreshTokens: RefreshTokens;
  db: Executor;
  clock: Clock;
  activity: Pick<Activity, 'record' | 'recordAlong'>;
  /** All in milliseconds. */
  lifetimes: {
    accessToken: number;
    refreshToken: number;
    sessionCookie: number;
    /** Maximum lifetime of a session, however often it is refreshed; null means unlimited. */
    session: number | null;
    gracePeriod: number;
  };
  sessionsPerUser: number;
}

export function createIssuing({
  accessTokens,
  refreshTokens,
  db,
  clock,
  activity,
  lifetimes,
  sessionsPerUser,
}: IssuingDependencies): Issuing {
  const after = (ms: number) => new Date(clock().getTime() + ms);
  const lifetimeOf = (mode: SessionMode) => (mode === 'session' ? lifetimes.sessionCookie : lifetimes.refreshToken);
  const maxAge = lifetimes.session ?? Number.POSITIVE_INFINITY;

  /** In mode `session`, there is no refresh token: the access token in the cookie takes its role. */
  const place = (id: string, generation: number, mode: SessionMode) => ({
    id,
    generation,
    expiresAt: after(lifetimeOf(mode)),
    refreshToken: mode === 'session' ? null : refreshTokens.issue({ sessionId: id, generation }),
  });

  const issue: Issuing['issue'] = (mode, principal, position, refreshToken, client) => {
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

  /** @param write creates the session and returns its user, or undefined if it did not create one */
  const beginBy = async (
    executor: Executor,
    { userId, mode }: NewLogin,
    client: Client,
    write: (session: NewSession, now: Date) => Promise<PrincipalRecord | undefined>,
  ): Promise<IssuedSession | undefined> => {
    const { refreshToken, ...first } = place(randomUUID(), 0, mode);
    const now = clock();
    const expiresAt = new Date(Math.min(first.expiresAt.getTime(), now.getTime() + maxAge));
    const position = { ...first, expiresAt, createdAt: now };
    const { id } = position;
    const { ip, userAgent, network } = client;
    const tokenHash = refreshToken && hashToken(refreshToken);
    const event = { action: 'login', collection: 'users', item: userId } as const;
    const principal = await activity.recordAlong(executor, { userId, client }, [event], (rows) =>
      write(
        { id, user: userId, tokenHash, expiresAt, ip, userAgent, network, activity: rows, limit: sessionsPerUser },
        now,
      ),
    );
    return principal && issue(mode, principal, position, refreshToken, client);
  };

  return {
    issue,

    next: ({ id, generation }, mode) => place(id, generation + 1, mode),

    begin: async (tx, login, client) => {
      const issued = await beginBy(tx, login, client, (session, now) => beginSession(tx, session, now));
      if (!issued) throw new ApiError('INVALID_CREDENTIALS');
      return issued;
    },

    recordAndBegin: (user, changes, mode, client) =>
      beginBy(db, { userId: user.id, mode }, client, (session, now) =>
        recordLoginAndBeginSession(db, user, changes, session, now),
      ),
  };
}
