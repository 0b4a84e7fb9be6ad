import type { Executor } from '../../db/client.js';
import { isPerhapsDone } from '../../db/failures.js';
import { type LoginCandidate, recordLogin } from '../../db/queries/logins.js';
import {
  type AdvanceOutcome,
  advanceSession,
  findPrincipalBySession,
  type SessionPlace,
} from '../../db/queries/principals.js';
import { deleteSession, findSession } from '../../db/queries/sessions.js';
import { ApiError } from '../../schemas/errors.js';
import type { SessionMode } from '../../schemas/sessions.js';
import type { Client } from '../client.js';
import type { PasswordChecks } from '../password-checks/service.js';
import type { Passwords } from '../passwords/service.js';
import type { SecondFactor } from '../tfa/second-factor.js';
import { hashToken } from '../tokens/refresh-tokens.js';
import type { Doubts } from './doubts.js';
import { createIssuing, type IssuedSession, type Issuing, type IssuingDependencies } from './issuing.js';
import { replacedAt } from './rotation.js';
import { createUnderWay } from './under-way.js';

export type { IssuedSession } from './issuing.js';

/** What a client shows to go on with a session: its refresh token or, in mode `session`, the token in its cookie. */
export interface SessionCredential {
  mode: SessionMode;
  token: string;
}

export interface Login {
  email: string;
  password: string;
  otp?: string | undefined;
  mode: SessionMode;
}

export interface Sessions {
  /**
   * Begins a session (contract 2.1).
   * @throws {ApiError} INVALID_CREDENTIALS, alike for every reason; INVALID_OTP; REQUESTS_EXCEEDED; SERVICE_UNAVAILABLE
   */
  login(login: Login, client: Client): Promise<IssuedSession>;
  /**
   * Begins a session in the transaction of a login, whichever way it went. Who is logging in, the caller has checked:
   * `recordLogin` says whether that still stands, and `secondFactor.use` uses up the code.
   * @throws {ApiError} INVALID_CREDENTIALS when the user is not active
   */
  begin: Issuing['begin'];
  /**
   * Exchanges a credential for its successor (contract 2.2). Of any number of attempts at once one succeeds.
   * @throws {ApiError} INVALID_CREDENTIALS; for a session cookie also INVALID_TOKEN, TOKEN_EXPIRED
   */
  refresh(credential: SessionCredential, client: Client): Promise<IssuedSession>;
  /** Ends the session that a credential belongs to, if there is one (contract 2.3). */
  logout(credential: SessionCredential, client: Client): Promise<void>;
}

interface Dependencies extends IssuingDependencies {
  db: Executor;
  doubts: Doubts;
  passwords: Pick<Passwords, 'hash' | 'isOutdated' | 'requireRoom'>;
  passwordChecks: PasswordChecks;
  secondFactor: SecondFactor;
  onUse(userId: string): void;
  onReuse(session: { id: string; client: Client }): void;
}

/** What a credential says of a session. No hash in mode `session`. */
interface ShownCredential {
  id: string;
  generation: number;
  tokenHash: string | null;
}

/** Milliseconds that a client waits at the most to learn whether a refresh was done: half of what it waits for an answer. */
const patience = 5_000;
/** After so long the client has been told to come back, or is about to be: nothing may be done for it any more. */
const longest = 9_000;

const tooSlow = () =>
  new ApiError('SERVICE_UNAVAILABLE', { service: 'database', reason: 'The database was too slow.' });

export function createSessions(deps: Dependencies): Sessions {
  const { db, doubts, passwords, passwordChecks, secondFactor } = deps;
  const { accessTokens, refreshTokens, clock, lifetimes, activity } = deps;
  const { begin, recordAndBegin, next, issue } = createIssuing(deps);
  const advances = createUnderWay();

  /** Another hash to keep when the parameters have changed, else null. A full queue is no reason to refuse a right login. */
  const renewedHash = async (stored: string | null, password: string): Promise<string | null> => {
    if (stored === null || !passwords.isOutdated(stored)) return null;
    return passwords.hash(password).catch((error: unknown) => {
      if (error instanceof ApiError) return null;
      throw error;
    });
  };

  /** One try at a login; undefined when the user was changed while the password was being checked. */
  const tryLogin = ({ email, password, otp, mode }: Login, client: Client): Promise<IssuedSession | undefined> => {
    const passwordOf = (user: LoginCandidate) =>
      user.status === 'active' && user.provider === 'default' ? user.password : null;
    return passwordChecks.logIn({ email, password }, client, passwordOf, async (user, attempts) => {
      const checked = { id: user.id, password: user.password, tfaSecret: user.tfaSecret };
      // Whatever becomes of the code.
      if (user.tfaSecret !== null) await attempts.clear();
      const code = await secondFactor.require(user, otp, client);
      const newPassword = await renewedHash(user.password, password);
      if (code === null) {
        const issued = await recordAndBegin(checked, { newPassword, counted: attempts.keys }, mode, client);
        if (!issued) await attempts.clear();
        return issued;
      }
      return db.transaction(async (tx) => {
        if (!(await recordLogin(tx, checked, newPassword, clock()))) return undefined;
        if (!(await secondFactor.use(tx, user.id, code, { userId: user.id, client }))) {
          throw new ApiError('INVALID_OTP').concerning(user.id);
        }
        return begin(tx, { userId: user.id, mode }, client);
      });
    });
  };

  /** What the credential says of the session's id and generation; undefined when it is none of ours. */
  const read = async ({ mode, token }: SessionCredential) => {
    if (mode !== 'session') {
      const found = refreshTokens.read(token);
      return found && { id: found.sessionId, generation: found.generation, tokenHash: hashToken(token) };
    }
    const claims = await accessTokens.verify(token);
    // Without a generation it is an access token of another mode, which must not be traded for a longer life.
    if (claims?.generation === undefined) return undefined;
    return { id: claims.session, generation: claims.generation, tokenHash: null };
  };

  /** The same, where a credential that cannot be used is no error: there is nothing to end. */
  const readOrNothing = async (credential: SessionCredential) => {
    try {
      return await read(credential);
    } catch (error) {
      if (error instanceof ApiError) return undefined;
      throw error;
    }
  };

  /** Ends a session, if it is there still, and writes down why. */
  const end = (id: string, action: 'logout' | 'refresh_reused', client: Client): Promise<void> =>
    db.transaction(async (tx) => {
      const user = await deleteSession(tx, id);
      if (user === undefined) return;
      // Who shows a token that was replaced long ago may be anybody.
      const userId = action === 'logout' ? user : null;
      await activity.record(tx, { userId, client }, [{ action, collection: 'sessions', item: id }]);
    });

  /**
   * Moves a session on, if the credential is the one that counts.
   * @param start when the client began to wait, on the clock of `performance.now()`
   * @throws {ApiError} SERVICE_UNAVAILABLE; nothing was used up then
   */
  const advance = async (
    shown: ShownCredential,
    place: SessionPlace & { expiresAt: Date },
    client: Client,
    start: number,
  ): Promise<AdvanceOutcome> => {
    const left = (milliseconds: number) => start + milliseconds - performance.now();
    const refresh = { id: shown.id, from: shown, to: place };
    const { ip, userAgent } = client;
    const { tokenHash, expiresAt } = place;
    const moving = advanceSession(db, shown, { tokenHash, expiresAt, ip, userAgent }, clock(), lifetimes.gracePeriod);
    const outcome = await moving.catch(async (error: unknown) => {
      if (!isPerhapsDone(error) || !(await doubts.wasDone(refresh, left(patience)))) throw error;
      return { principal: await findPrincipalBySession(db, shown.id), wasCurrent: true };
    });
    if (outcome.principal && left(longest) <= 0) {
      await doubts.wasDone(refresh, 0);
      throw tooSlow();
    }
    return outcome;
  };

  /** What is left when a credential could not be exchanged: an old one, shown again. */
  const refuseOrRepeat = async (
    mode: SessionMode,
    shown: ShownCredential,
    wasCurrent: boolean,
    client: Client,
  ): Promise<IssuedSession> => {
    const session = await findSession(db, shown.id);
    const isSameKind = session && (session.tokenHash === null) === (shown.tokenHash === null);
    const replaced = isSameKind ? replacedAt(shown.generation, session) : undefined;
    if (!session || replaced === undefined) throw new ApiError('INVALID_CREDENTIALS');
    const isRecent = replaced !== null && clock().getTime() <= replaced.getTime() + lifetimes.gracePeriod;
    // Who was overtaken while waiting for the database is late, and no thief, however long that took.
    const isInGrace = wasCurrent || isRecent;
    if (mode === 'session' && isInGrace) {
      const principal = await findPrincipalBySession(db, shown.id);
      if (principal?.status === 'active') return issue(mode, principal, { id: shown.id, ...session }, null, client);
    }
    if (mode !== 'session' && !isInGrace) {
      await end(shown.id, 'refresh_reused', client);
      deps.onReuse({ id: shown.id, client });
    }
    throw new ApiError('INVALID_CREDENTIALS');
  };

  return {
    begin,

    login: async (login, client) => {
      passwords.requireRoom();
      // A user who changed meanwhile is judged once more, as they are now: another login may just have renewed the hash.
      const issued = (await tryLogin(login, client)) ?? (await tryLogin(login, client));
      if (!issued) throw new ApiError('INVALID_CREDENTIALS');
      return issued;
    },

    refresh: async (credential, client) => {
      const start = performance.now();
      const { mode } = credential;
      const shown = await read(credential);
      if (!shown) throw new ApiError('INVALID_CREDENTIALS');
      await doubts.resolved(shown.id, patience);
      const { refreshToken, ...position } = next(shown, mode);
      const place = { ...position, tokenHash: refreshToken && hashToken(refreshToken) };
      const { principal, wasCurrent } = await advances.run(shown.id, () => advance(shown, place, client, start));
      if (!principal) {
        if (wasCurrent) {
          // Whoever was faster here may have been too late for their client, and what they did is taken back.
          if (await advances.hasFailed(shown.id)) throw tooSlow();
          await doubts.resolved(shown.id, 0);
        }
        return refuseOrRepeat(mode, shown, wasCurrent, client);
      }
      deps.onUse(principal.id);
      return issue(mode, principal, position, refreshToken, client);
    },

    logout: async (credential, client) => {
      const shown = await readOrNothing(credential);
      if (shown) await end(shown.id, 'logout', client);
    },
  };
}
