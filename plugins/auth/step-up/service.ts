import type { Executor } from '../../../db/client.js';
import { findProofs, markAuthenticated } from '../../../db/queries/auth/step-up.js';
import { ApiError, type ProofMethod } from '../../../schemas/errors.js';
import type { Clock } from '../../platform/clock.js';
import type { Caller } from '../../server/caller.js';
import type { SignInMethods } from '../sign-in-methods.js';
import type { OwnPassword } from './own-password.js';

/**
 * Requires a recent proof of identity for operations that would let someone who stole a token take over the account for good. A session
 * stays fresh for REAUTHENTICATION_PERIOD. A static token is never fresh.
 *
 * In a transaction, pass the transaction as `executor`: the embedded engine has only one connection.
 */
export interface StepUp {
  /**
   * For operations on the caller's own account that only the user may perform, never a program.
   * @throws {ApiError} FORBIDDEN for a static token
   */
  requireSession(caller: Caller): void;
  /**
   * Like `requireSession`, but the session must also be fresh.
   * @throws {ApiError} FORBIDDEN for a static token; REAUTHENTICATION_REQUIRED
   */
  requireFresh(caller: Caller, executor?: Executor): Promise<void>;
  /**
   * For routes that write credentials to the caller's own row: requires a fresh session or, for users without two-factor
   * authentication, the password. If REAUTHENTICATION_PERIOD is 0, static tokens may write credentials too. Do not call this
   * in a transaction, because it may have to check a password.
   * @param currentPassword always checked if present
   * @throws {ApiError} FORBIDDEN for a static token; REAUTHENTICATION_REQUIRED; INVALID_CREDENTIALS for a wrong password,
   *   which counts as a failed attempt; REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
   */
  requireProofForOwnRow(caller: Caller, currentPassword: string | undefined): Promise<void>;
  /**
   * For operations that administrators perform on other users. Static tokens are accepted, within the rights of their users.
   * @throws {ApiError} REAUTHENTICATION_REQUIRED
   */
  requireFreshAdministrator(caller: Caller, executor?: Executor): Promise<void>;
  /** The ways in which a user can prove their identity. @throws {ApiError} INVALID_CREDENTIALS when the user no longer exists */
  methodsOf(userId: string, executor?: Executor): Promise<ProofMethod[]>;
  /** Whether {@link requireFreshAdministrator} would reject this caller. Runs no database query. */
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
  /** Milliseconds. 0 means that a fresh session is never required. */
  period: number;
  signInMethods: SignInMethods;
}): StepUp {
  const { db, clock, ownPassword, period, signInMethods } = deps;

  const isFresh = ({ authenticatedAt }: Caller): boolean =>
    // A time in the future comes from a clock that was ahead. `Math.abs` rejects such a proof while it is a whole period or more ahead.
    period === 0 || (authenticatedAt !== null && Math.abs(clock().getTime() - authenticatedAt) < period);

  const methodsOf = async (userId: string | null, executor: Executor = db): Promise<ProofMethod[]> => {
    const proofs = userId === null ? undefined : await findProofs(executor, userId);
    if (!proofs) throw new ApiError('INVALID_CREDENTIALS');
    const hasPassword = proofs.has_password && signInMethods.allowsPassword(proofs);
    const hasPasskey = proofs.has_passkey && signInMethods.allowsPasskey(proofs);
    const { has_tfa: hasTfa, has_email: hasEmail } = proofs;
    const methods: ProofMethod[] = [];
    // For users with two-factor authentication, the code is sufficient, and the password alone is not.
    if (hasTfa) methods.push('otp');
    else if (hasPassword) methods.push('password');
    else if (hasEmail && !hasPasskey && signInMethods.allowsEmail(proofs)) methods.push('email');
    if (hasPasskey) methods.push('passkey');
    if (proofs.providers.some((provider) => signInMethods.allowsProvider(proofs, provider))) methods.push('provider');
    return methods;
  };

  const refusal = async (executor: Executor, userId: string | null) =>
    new ApiError('REAUTHENTICATION_REQUIRED', {
      max_age: Math.ceil(period / 1000),
      methods: await methodsOf(userId, executor),
    });

  const requireSession: StepUp['requireSession'] = ({ sessionId }) => {
    if (sessionId === null)
      throw new ApiError('FORBIDDEN', { reason: 'This requires a session. Sign in instead of using a static token.' });
  };

  const requireFresh: StepUp['requireFresh'] = async (caller, executor = db) => {
    requireSession(caller);
    if (!isFresh(caller)) throw await refusal(executor, caller.userId);
  };

  const isStale: StepUp['isStale'] = (caller) => caller.sessionId !== null && !isFresh(caller);

  return {
    methodsOf,
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

    requireFreshAdministrator: async (caller, executor = db) => {
      if (isStale(caller)) throw await refusal(executor, caller.userId);
    },

    markFresh: async ({ sessionId, userId }, executor = db) => {
      if (sessionId === null || userId === null) return false;
      return markAuthenticated(executor, { id: sessionId, user: userId }, clock());
    },
  };
}
