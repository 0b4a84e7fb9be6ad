import type { Executor } from '../../../db/client.js';
import { findProofs, markAuthenticated } from '../../../db/queries/auth/step-up.js';
import { ApiError, type ProofMethod } from '../../../schemas/errors.js';
import type { Clock } from '../../platform/clock.js';
import type { Caller } from '../../server/caller.js';
import type { OwnPassword } from './own-password.js';

/**
 * Whether a caller has proved their identity recently enough for what an attacker would do with a stolen token to keep the
 * account. A session is fresh for REAUTHENTICATION_PERIOD; static tokens never are.
 *
 * In a transaction, pass it as `executor`: the embedded engine has one connection.
 */
export interface StepUp {
  /**
   * For what users do to their own account, and programs never do for them.
   * @throws {ApiError} FORBIDDEN for a static token
   */
  requireSession(caller: Caller): void;
  /**
   * The same, and the session must be fresh.
   * @throws {ApiError} FORBIDDEN for a static token; REAUTHENTICATION_REQUIRED
   */
  requireFresh(caller: Caller, executor?: Executor): Promise<void>;
  /**
   * For the credentials on the caller's own row, which the users routes write: a fresh session or, for users without
   * two-factor authentication, their password. Without REAUTHENTICATION_PERIOD, static tokens may write them. Not to be called
   * in a transaction, because a password may have to be checked.
   * @param currentPassword is checked whenever it is given
   * @throws {ApiError} FORBIDDEN for a static token; REAUTHENTICATION_REQUIRED; INVALID_CREDENTIALS when the password is
   *   wrong, which is counted; REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
   */
  requireProofForOwnRow(caller: Caller, currentPassword: string | undefined): Promise<void>;
  /**
   * For what administrators do to others. Static tokens may do it, as far as their rights allow.
   * @throws {ApiError} REAUTHENTICATION_REQUIRED
   */
  requireFreshOfAdministrator(caller: Caller, executor?: Executor): Promise<void>;
  /** Whether {@link requireFreshOfAdministrator} would refuse this caller; it requires no statement. */
  isStale(caller: Caller): boolean;
  /**
   * Makes the caller's session fresh, because they have just proved their identity.
   * @returns false when the session has ended
   */
  markFresh(caller: Caller, executor?: Executor): Promise<boolean>;
}

export function createStepUp(deps: {
  db: Executor;
  clock: Clock;
  ownPassword: OwnPassword;
  /** Milliseconds; 0: a fresh session is never required. */
  period: number;
  /** Whether users can sign in through this provider. */
  isConfigured(provider: string): boolean;
}): StepUp {
  const { db, clock, ownPassword, period, isConfigured } = deps;

  const isFresh = ({ authenticatedAt }: Caller): boolean =>
    // A proof in the future comes from a clock that was ahead; it is valid for no longer than any other.
    period === 0 || (authenticatedAt !== null && Math.abs(clock().getTime() - authenticatedAt) < period);

  const refusal = async (executor: Executor, userId: string | null) => {
    const proofs = userId === null ? undefined : await findProofs(executor, userId);
    if (!proofs) return new ApiError('INVALID_CREDENTIALS');
    const { has_password: hasPassword, has_tfa: hasTfa, providers } = proofs;
    const methods: ProofMethod[] = [];
    // Users with a second factor need its code, and nothing else.
    if (hasTfa) methods.push('otp');
    else if (hasPassword) methods.push('password');
    if (providers.some(isConfigured)) methods.push('provider');
    return new ApiError('REAUTHENTICATION_REQUIRED', { max_age: Math.ceil(period / 1000), methods });
  };

  const requireSession: StepUp['requireSession'] = ({ sessionId }) => {
    if (sessionId === null) throw new ApiError('FORBIDDEN', { reason: 'A static token may not do this; sign in' });
  };

  const requireFresh: StepUp['requireFresh'] = async (caller, executor = db) => {
    requireSession(caller);
    if (!isFresh(caller)) throw await refusal(executor, caller.userId);
  };

  const isStale: StepUp['isStale'] = (caller) => caller.sessionId !== null && !isFresh(caller);

  return {
    requireSession,
    requireFresh,
    isStale,

    requireProofForOwnRow: async (caller, currentPassword) => {
      if (period > 0) requireSession(caller);
      if (currentPassword === undefined) {
        if (!isFresh(caller)) throw await refusal(db, caller.userId);
        return;
      }
      const user = await ownPassword.read(caller);
      await ownPassword.require(caller, user, currentPassword);
      if (user.tfaSecret !== null && !isFresh(caller)) throw await refusal(db, caller.userId);
    },

    requireFreshOfAdministrator: async (caller, executor = db) => {
      if (isStale(caller)) throw await refusal(executor, caller.userId);
    },

    markFresh: async ({ sessionId, userId }, executor = db) => {
      if (sessionId === null || userId === null) return false;
      return markAuthenticated(executor, { id: sessionId, user: userId }, clock());
    },
  };
}
