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

/** The tokens of a session that was begun or refreshed. In mode `session` there is no refresh token. */
export interface IssuedSession {
  mode: SessionMode;
  accessToken: string;
  refreshToken: string | null;
  /** Lifetime of the access token in milliseconds. */
  expires: number;
  /** Lifetime of what continues the session, and of its cookie, in milliseconds. */
  sessionExpires: number;
}

/** Where a session stands: which of its successive tokens is the current one, and how long it lasts. */
interface Position {
  id: string;
  generation: number;
  expiresAt: Date;
  createdAt: Date;
}

/** Whose session is to begin, and how it is carried. */
export interface NewLogin {
  userId: string;
  mode: SessionMode;
}

export interface Issuing {
  /**
   * A new session of a user, in the transaction of their login.
   * @throws {ApiError} INVALID_CREDENTIALS when they are not active
   */
  begin(tx: Executor, login: NewLogin, client: Client): Promise<IssuedSession>;
  /**
   * The same, and the login itself, where there is nothing else to it: it needs no transaction then.
   * @param user as they were when they were checked
   * @param changes.newPassword another hash of the same password, to be kept instead
   * @param changes.counted keys of the attempts that are forgotten by it
   * @returns undefined when the user is not as they were any more; then nothing was done
   */
  recordAndBegin(
    user: CheckedUser,
    changes: { newPassword: string | null; counted: readonly string[] },
    mode: SessionMode,
    client: Client,
  ): Promise<IssuedSession | undefined>;
  /** The next place of a session, the refresh token of it, and until when it is valid if the session lasts as long. */
  next(
    session: { id: string; generation: number },
    mode: SessionMode,
  ): { generation: number; refreshToken: string | null; expiresAt: Date };
  /** The tokens of a place in a session. */
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
    /** Of a session, however often it is refreshed; null: none. */
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

  /** No refresh token in mode `session`, where the access token does its work. */
  const place = (id: string, generation: number, mode: SessionMode) => ({
    id,
    generation,
    expiresAt: after(lifetimeOf(mode)),
    refreshToken: mode === 'session' ? null : refreshTokens.issue({ sessionId: id, generation }),
  });

  const issue: Issuing['issue'] = (mode, principal, position, refreshToken, client) => {
    const rights = rightsOf(principal, client.ip);
    // In whole seconds, like the lifetimes of tokens and cookies.
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

  /** @param write says who they are for whom the session was begun; undefined when it was not */
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
