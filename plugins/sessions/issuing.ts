import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import { findPrincipalByUser, type PrincipalRecord } from '../../db/queries/principals.js';
import { insertSession } from '../../db/queries/sessions.js';
import { ApiError } from '../../schemas/errors.js';
import type { SessionMode } from '../../schemas/sessions.js';
import { rightsOf } from '../access/rights.js';
import type { Activity } from '../activity/service.js';
import type { Client } from '../client.js';
import type { Clock } from '../clock.js';
import type { PasswordChecks } from '../password-checks/service.js';
import type { AccessTokens } from '../tokens/access-tokens.js';
import { hashToken, type RefreshTokens } from '../tokens/refresh-tokens.js';

/** The tokens of a session that was begun or refreshed. In mode `session` there is no refresh token. */
export interface IssuedSession {
  mode: SessionMode;
  accessToken: string;
  refreshToken: string | null;
  /** Lifetime of the access token in milliseconds. */
  expires: number;
}

/** Where a session stands: which user, and which of its successive tokens counts. */
interface Position {
  id: string;
  generation: number;
  expiresAt: Date;
}

export interface Issuing {
  /** A new session of an active user, in the transaction of their login. */
  begin(tx: Executor, login: { userId: string; mode: SessionMode }, client: Client): Promise<IssuedSession>;
  /** The next place of a session, and the refresh token of it. */
  next(session: { id: string; generation: number }, mode: SessionMode): Position & { refreshToken: string | null };
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
  passwordChecks: Pick<PasswordChecks, 'remember'>;
  clock: Clock;
  activity: Pick<Activity, 'record'>;
  /** All in milliseconds. */
  lifetimes: { accessToken: number; refreshToken: number; sessionCookie: number; gracePeriod: number };
}

export function createIssuing({
  accessTokens,
  refreshTokens,
  passwordChecks,
  clock,
  activity,
  lifetimes,
}: IssuingDependencies): Issuing {
  const after = (ms: number) => new Date(clock().getTime() + ms);

  /** No refresh token in mode `session`, where the access token does its work. */
  const place = (id: string, generation: number, mode: SessionMode) => ({
    id,
    generation,
    expiresAt: after(mode === 'session' ? lifetimes.sessionCookie : lifetimes.refreshToken),
    refreshToken: mode === 'session' ? null : refreshTokens.issue({ sessionId: id, generation }),
  });

  const issue: Issuing['issue'] = (mode, principal, position, refreshToken, client) => {
    const rights = rightsOf(principal, client.ip);
    const lifetime = mode === 'session' ? lifetimes.sessionCookie : lifetimes.accessToken;
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
      mode === 'session' ? position.expiresAt : after(lifetime),
    );
    return { mode, accessToken, refreshToken, expires: lifetime };
  };

  return {
    issue,

    next: ({ id, generation }, mode) => place(id, generation + 1, mode),

    begin: async (tx, { userId, mode }, client) => {
      const { id, generation, expiresAt, refreshToken } = place(randomUUID(), 0, mode);
      const { ip, userAgent } = client;
      const tokenHash = refreshToken && hashToken(refreshToken);
      // None waits for another's answer: they go to the database together.
      const [principal] = await Promise.all([
        findPrincipalByUser(tx, userId),
        insertSession(tx, { id, user: userId, tokenHash, expiresAt, ip, userAgent }, clock()),
        passwordChecks.remember(tx, userId, client),
        activity.record(tx, { userId, client }, [{ action: 'login', collection: 'users', item: userId }]),
      ]);
      if (principal?.status !== 'active') throw new ApiError('INVALID_CREDENTIALS');
      return issue(mode, principal, { id, generation, expiresAt }, refreshToken, client);
    },
  };
}
