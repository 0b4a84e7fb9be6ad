import type { Executor } from '../../db/client.js';
import { administratorsAmong } from '../../db/queries/access/administrators.js';
import { findProofs, findSessionProof, type ProofRecord, recordProved } from '../../db/queries/step-up/step-up.js';
import { ApiError, type ProofMethod } from '../../schemas/errors.js';
import type { Caller } from '../http/caller.js';
import { isOfApplication, requireSession, sessionIdOf, sessionOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';
import {
  authenticationMethodsOf,
  isVerifiedByPasskey,
  type ProvedFactors,
} from '../sign-in-methods/authentication-methods.js';
import type { OwnPassword } from './own-password.js';

/**
 * Requires a recent proof of identity for operations that would let someone who stole a token take over the account for good. A session
 * stays fresh for REAUTHENTICATION_PERIOD. A static token is never fresh.
 *
 * While a policy with `enforce_tfa` applies to users who have a second factor, only that factor proves their identity, and a session
 * that has not proved it is never fresh. Otherwise, someone who has only the password could replace the factor.
 *
 * In a transaction, pass the transaction as `executor`: the embedded engine has only one connection.
 */
export interface StepUp {
  /** @throws {ApiError} FORBIDDEN for any other credential than a session; REAUTHENTICATION_REQUIRED */
  requireFresh(caller: Caller, executor?: Executor): Promise<void>;
  /**
   * For routes that write credentials to the caller's own row: requires a fresh session or, if the password alone can prove the
   * caller's identity, the password. If REAUTHENTICATION_PERIOD is 0, static tokens may write credentials too. Do not call this
   * in a transaction, because it may have to check a password.
   * @param currentPassword always checked if present
   * @throws {ApiError} FORBIDDEN for a token of a program; REAUTHENTICATION_REQUIRED; INVALID_CREDENTIALS for a wrong password,
   *   which counts as a failed attempt; REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
   */
  requireProofForOwnRow(caller: Caller, currentPassword: string | undefined): Promise<void>;
  /**
   * Requires that what was checked before the transaction still holds, for changes to the caller's own credentials: a password reset
   * may have ended the session since, or another session may have added the user's first second factor, which this one has not proved.
   * @param tx a transaction that has locked the caller's row, so that nothing can change this before the commit
   * @throws {ApiError} INVALID_CREDENTIALS, REAUTHENTICATION_REQUIRED
   */
  requireStillProved(tx: Executor, caller: Caller): Promise<void>;
  /**
   * For operations that administrators perform on other users. Static tokens are accepted, within the rights of their users.
   * @throws {ApiError} REAUTHENTICATION_REQUIRED; FORBIDDEN for the token of an application
   */
  requireFreshAdministrator(caller: Caller, executor?: Executor): Promise<void>;
  /**
   * For operations with which administrators change how a user signs in: requires a fresh session if the user is an administrator or the
   * caller.
   * @throws {ApiError} as {@link requireFresh} and {@link requireFreshAdministrator} do
   */
  requireFreshForUser(tx: Executor, caller: Caller, user: string): Promise<void>;
  /**
   * Whether only a second factor can prove the caller's identity: the user has two-factor authentication, or has a passkey while
   * `enforce_tfa` applies.
   */
  needsSecondFactor(caller: Caller, executor?: Executor): Promise<boolean>;
  /** The ways in which a user can prove their identity. @throws {ApiError} INVALID_CREDENTIALS when the user no longer exists */
  methodsOf(caller: Caller, executor?: Executor): Promise<ProofMethod[]>;
  /** Whether {@link requireFreshAdministrator} could reject this caller. Runs no database query. */
  isStale(caller: Caller): boolean;
  /**
   * Makes the caller's session fresh, because they have just proved their identity.
   * @param proved with a passkey that verified the user, the session then satisfies `enforce_tfa`
   * @returns false when the session has ended
   */
  markFresh(caller: Caller, executor: Executor, proved: ProvedFactors): Promise<boolean>;
  /** Records what the caller has proved in their session, without making it fresh. */
  noteProved(caller: Caller, executor: Executor, proved: ProvedFactors): Promise<void>;
}

export function createStepUp({ config, db, clock, signInMethods }: Services, ownPassword: OwnPassword): StepUp {
  // 0 means that a fresh session is never required.
  const { REAUTHENTICATION_PERIOD: period } = config;

  const isRecent = (caller: Caller): boolean => {
    const { authenticatedAt = Number.NEGATIVE_INFINITY } = sessionOf(caller) ?? {};
    // A time in the future comes from a clock that was ahead. `Math.abs` rejects such a proof while it is a whole period or more ahead.
    return period === 0 || Math.abs(clock().getTime() - authenticatedAt) < period;
  };

  const proofsOf = async (userId: string | null, executor: Executor): Promise<ProofRecord> => {
    const proofs = userId === null ? undefined : await findProofs(executor, userId);
    if (!proofs) throw new ApiError('INVALID_CREDENTIALS');
    return proofs;
  };

  const canUsePasskey = (proofs: ProofRecord) => proofs.has_passkey && signInMethods.allowsPasskey(proofs);

  const isFactorRequired = ({ requiresTfa }: Caller, proofs: ProofRecord): boolean =>
    proofs.has_tfa || (requiresTfa && canUsePasskey(proofs));

  const methodsOf: StepUp['methodsOf'] = async (caller, executor = db) => {
    const proofs = await proofsOf(caller.userId, executor);
    const [hasTfa, hasPasskey] = [proofs.has_tfa, canUsePasskey(proofs)];
    const isPasswordEnough = !isFactorRequired(caller, proofs);
    const methods: ProofMethod[] = [];
    if (hasTfa) methods.push('otp');
    else if (!isPasswordEnough) return ['passkey'];
    else if (proofs.has_password && signInMethods.allowsPassword(proofs)) methods.push('password');
    else if (proofs.has_email && !hasPasskey && signInMethods.allowsEmail(proofs)) methods.push('email');
    if (hasPasskey) methods.push('passkey');
    // With two-factor authentication, a login through the provider requires the code, too.
    if (proofs.providers.some((provider) => signInMethods.allowsProvider(proofs, provider))) methods.push('provider');
    return methods;
  };

  const needsSecondFactor: StepUp['needsSecondFactor'] = async (caller, executor = db) =>
    isFactorRequired(caller, await proofsOf(caller.userId, executor));

  /** Whether the session, or a static token, could not have been obtained with one factor of a user who needs two. */
  const isProved = async (caller: Caller, executor: Executor): Promise<boolean> =>
    !caller.requiresTfa || caller.satisfiesTfa || !(await needsSecondFactor(caller, executor));

  const isFresh = async (caller: Caller, executor: Executor): Promise<boolean> =>
    isRecent(caller) && (await isProved(caller, executor));

  const refusal = async (caller: Caller, executor: Executor) => {
    requireSession(caller);
    return new ApiError('REAUTHENTICATION_REQUIRED', {
      max_age: Math.ceil(period / 1000),
      methods: await methodsOf(caller, executor),
    });
  };

  /**
   * Static tokens are for programs, which cannot prove who uses them. The token of an application is never fresh: otherwise, someone who
   * stole a session could use it to get a token that is worth more.
   */
  const canBecomeStale = (caller: Caller) => sessionOf(caller) !== undefined || isOfApplication(caller);

  const requireFresh: StepUp['requireFresh'] = async (caller, executor = db) => {
    requireSession(caller);
    if (!(await isFresh(caller, executor))) throw await refusal(caller, executor);
  };

  const record = async (
    caller: Caller,
    executor: Executor,
    proved: ProvedFactors,
    time: { authenticatedAt?: Date } = {},
  ) => {
    const id = sessionIdOf(caller);
    const { userId: user } = caller;
    if (id === null || user === null) return false;
    const factors = { amr: authenticationMethodsOf(proved), isVerifiedByPasskey: isVerifiedByPasskey(proved) };
    return recordProved(executor, { id, user }, { ...factors, ...time });
  };

  const requireFreshAdministrator: StepUp['requireFreshAdministrator'] = async (caller, executor = db) => {
    if (canBecomeStale(caller) && !(await isFresh(caller, executor))) throw await refusal(caller, executor);
  };

  return {
    methodsOf,
    needsSecondFactor,
    requireFresh,

    isStale: (caller) => canBecomeStale(caller) && !(isRecent(caller) && (!caller.requiresTfa || caller.satisfiesTfa)),

    requireProofForOwnRow: async (caller, currentPassword) => {
      if (period > 0 || isOfApplication(caller)) requireSession(caller);
      if (currentPassword !== undefined) {
        await ownPassword.require(caller, await ownPassword.read(caller), currentPassword);
        if (!(await needsSecondFactor(caller))) return;
      }
      // A static token, which has proved nothing.
      if (!(await isProved(caller, db))) requireSession(caller);
      if (!(await isFresh(caller, db))) throw await refusal(caller, db);
    },

    requireStillProved: async (tx, caller) => {
      const id = sessionIdOf(caller);
      if (id === null) return;
      const session = await findSessionProof(tx, id);
      if (!session) throw new ApiError('INVALID_CREDENTIALS').concerning(caller.userId);
      if (!(await isProved({ ...caller, ...session }, tx))) throw await refusal(caller, tx);
    },

    requireFreshAdministrator,

    requireFreshForUser: async (tx, caller, user) => {
      if (user === caller.userId) await requireFresh(caller, tx);
      else if ((await administratorsAmong(tx, [user])).size > 0) await requireFreshAdministrator(caller, tx);
    },

    markFresh: (caller, executor, proved) => record(caller, executor, proved, { authenticatedAt: clock() }),

    noteProved: async (caller, executor, proved) => {
      await record(caller, executor, proved);
    },
  };
}
