import type { SessionPrincipalRecord } from '../../db/queries/access/principals.js';
import { advanceSession, findRefreshableSession, type RefreshableSession } from '../../db/queries/sessions/refresh.js';
import { deleteSession } from '../../db/queries/sessions/sessions.js';
import { ApiError, unavailable } from '../../schemas/errors.js';
import type { SessionMode } from '../../schemas/sessions.js';
import type { Client } from '../http/caller.js';
import { toApiError } from '../http/errors.js';
import { clockOffset } from '../platform/clock.js';
import type { Services } from '../platform/plugin.js';
import { within } from '../platform/within.js';
import { hashToken } from '../tokens/refresh-tokens.js';
import { type Arrivals, refreshLimits } from './arrivals.js';
import { type IssuedSession, lifetimesOf, type SessionIssuer } from './issuing.js';
import { tokenStatusOf } from './token-status.js';

/** What a client presents to continue a session: its refresh token or, in `session` mode, the token in its cookie. */
export interface PresentedTokens {
  mode: SessionMode;
  /** Several if there are several cookies of this name. A neighboring host can set more of them, so any valid one is accepted. */
  tokens: readonly string[];
  /** When the request arrived, as a value of `performance.now()`. */
  arrived: number;
}

export interface SessionRefresh {
  /**
   * Exchanges a credential for its successor. This can be repeated: within the grace period after the replacement, the most
   * recently replaced credential gives the same successor again. After that, it ends the session.
   * @throws {ApiError} INVALID_CREDENTIALS; SERVICE_UNAVAILABLE if it takes too long
   */
  refresh(credential: PresentedTokens, client: Client): Promise<IssuedSession>;
  /** The session that a credential can continue, without exchanging it; undefined: none. */
  find(credential: PresentedTokens): Promise<SessionPrincipalRecord | undefined>;
  /** Ends the sessions that a credential can continue, if any. */
  logout(credential: PresentedTokens, client: Client): Promise<void>;
}

/** The contents of a token. The hash is null in `session` mode. */
interface PresentedToken {
  id: string;
  generation: number;
  tokenHash: string | null;
}

/** How many tokens of one request are tried. Each one costs a database query. */
const maxPresented = 4;

const tooLate = () => unavailable('database_timeout');

export function createRefresh(
  { config, db, accessTokens, refreshTokens, clock, activity, lastAccess, log }: Services,
  { next, issue }: SessionIssuer,
  arrivals: Arrivals,
): SessionRefresh {
  const lifetimes = lifetimesOf(config);

  const { timeoutMs } = refreshLimits(lifetimes.gracePeriod);

  /** @throws {ApiError} for a session cookie: INVALID_TOKEN, TOKEN_EXPIRED */
  const read = async (mode: SessionMode, token: string): Promise<PresentedToken | undefined> => {
    if (mode !== 'session') {
      const found = refreshTokens.read(token);
      return found && { id: found.sessionId, generation: found.generation, tokenHash: hashToken(token) };
    }
    const claims = await accessTokens.verify(token);
    // Without a generation, this is an access token of another mode. It must not be exchanged for one with a longer lifetime.
    if (claims?.generation === undefined) return undefined;
    return { id: claims.session, generation: claims.generation, tokenHash: null };
  };

  /** The tokens that this service issued, reduced to the newest one of each session. */
  const readAll = async ({ mode, tokens }: PresentedTokens) => {
    const bySession = new Map<string, PresentedToken>();
    let isExpired = false;
    for (const token of tokens) {
      const presented = await read(mode, token).catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.status >= 500) throw error;
        isExpired ||= error.code === 'TOKEN_EXPIRED';
        return undefined;
      });
      if (!presented || bySession.size >= maxPresented) continue;
      const other = bySession.get(presented.id);
      if (!other || other.generation < presented.generation) bySession.set(presented.id, presented);
    }
    return { presented: [...bySession.values()], isExpired };
  };

  /** Ends a session, if it still exists, and records the reason in the audit log. */
  const end = (id: string, action: 'logout' | 'refresh_reused', client: Client): Promise<void> =>
    db.transaction(async (tx) => {
      const user = await deleteSession(tx, id);
      if (user === undefined) return;
      // The caller is not known: anyone may present a token that was replaced long ago.
      const userId = action === 'logout' ? user : null;
      await activity.record(tx, { userId, client }, [{ action, collection: 'sessions', item: id }]);
    });

  /** The session of a token, and the status of the token in it; undefined if there is no such session, or its mode differs. */
  const findTokenStatus = async ({ id, generation, tokenHash }: PresentedToken, arrived: number) => {
    const found = await findRefreshableSession(db, id);
    if (!found || (found.token_hash === null) !== (tokenHash === null)) return undefined;
    const waited = performance.now() - arrivals.effectiveArrival(id, arrived);
    const { gracePeriod } = lifetimes;
    return {
      found,
      status: tokenStatusOf(generation, found.session, { waited, shift: clockOffset(clock), gracePeriod }),
    };
  };

  /** The sessions whose current token, or the most recently replaced one within the grace period, is presented. */
  const findUsable = async (credential: PresentedTokens): Promise<RefreshableSession[]> => {
    const { presented } = await readAll(credential);
    const usable: RefreshableSession[] = [];
    for (const token of presented) {
      const { found, status } = (await findTokenStatus(token, credential.arrived)) ?? {};
      const isCurrent = status === 'current' && found?.token_hash === token.tokenHash;
      if (found && (isCurrent || status === 'replaced')) usable.push(found);
    }
    return usable;
  };

  /** Exchanges one token. @returns the new session tokens, or the reason for the refusal */
  const exchange = async (
    mode: SessionMode,
    presented: PresentedToken,
    client: Client,
    arrived: number,
  ): Promise<IssuedSession | 'just-replaced' | 'reused' | 'refused'> => {
    const { id } = presented;
    const { generation, refreshToken, expiresAt } = next(presented, mode);
    const { ip, userAgent } = client;
    const place = { tokenHash: refreshToken && hashToken(refreshToken), expiresAt, ip, userAgent };
    const times = { now: clock(), shift: clockOffset(clock), maxAge: lifetimes.session };
    const outcome = await advanceSession(db, presented, place, times);
    if (outcome.principal) {
      lastAccess.touch(outcome.principal.id, 0);
      return issue(mode, outcome.principal, { ...outcome, id, generation }, refreshToken, client);
    }

    const { found, status } = (await findTokenStatus(presented, arrived)) ?? {};
    if (!found || status === 'unknown' || status === 'current') return 'refused';
    // The token was current when the statement began, so the request arrived before the replacement was committed.
    const isReplaced = status === 'replaced' || (outcome.wasCurrent && generation === found.session.generation);
    if (!isReplaced) return status === 'reused' && !outcome.wasCurrent ? 'reused' : 'just-replaced';
    const { session, created_at: createdAt, token_hash: hash } = found;
    if (found.status !== 'active' || session.expires_at <= clock().getTime()) return 'just-replaced';
    const successor = hash === null ? null : refreshTokens.reissue({ sessionId: id, generation }, hash);
    if (successor === undefined) return 'just-replaced';
    const position = { id, generation, expiresAt: new Date(session.expires_at), createdAt: new Date(createdAt) };
    return issue(mode, found, position, successor, client);
  };

  return {
    refresh: async (credential, client) => {
      const { mode } = credential;
      const { presented, isExpired } = await readAll(credential);
      const outcomes = new Map<string, Exclude<Awaited<ReturnType<typeof exchange>>, IssuedSession>>();
      for (const token of presented) {
        try {
          const left = credential.arrived + timeoutMs - performance.now();
          const outcome = await within(left, exchange(mode, token, client, credential.arrived), tooLate);
          if (typeof outcome === 'object') return outcome;
          outcomes.set(token.id, outcome);
        } catch (error) {
          if (toApiError(error).code === 'SERVICE_UNAVAILABLE') arrivals.noteUnavailable(token.id, credential.arrived);
          throw error;
        }
      }
      for (const [id, outcome] of outcomes) {
        if (outcome !== 'reused') continue;
        await end(id, 'refresh_reused', client);
        log.warn({ id, client }, 'a replaced refresh token or session cookie was used again: the session was ended');
      }
      const isJustReplaced = [...outcomes.values()].includes('just-replaced');
      const error = new ApiError('INVALID_CREDENTIALS');
      throw isJustReplaced || isExpired ? error.keepingCookie() : error;
    },

    find: async (credential) => {
      const found = await findUsable(credential);
      return found.find(({ status, session }) => status === 'active' && session.expires_at > clock().getTime());
    },

    logout: async (credential, client) => {
      for (const { session } of await findUsable(credential)) await end(session.id, 'logout', client);
    },
  };
}
