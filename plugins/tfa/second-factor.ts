import type { Executor } from '../../db/client.js';
import type { AttemptRules } from '../../db/queries/attempts.js';
import { findLock, hasRecoveryCode, reserveAttempt, useRecoveryCode, useStep } from '../../db/queries/two-factor.js';
import { ApiError } from '../../schemas/errors.js';
import type { Clock } from '../clock.js';
import { requestsExceeded } from '../requests-exceeded.js';
import type { SecretBox } from '../secret-box.js';
import { hashRecoveryCode } from './recovery-codes.js';
import { matchStep } from './totp.js';

/** Whose second factor it is, as read just now. */
export interface Holder {
  id: string;
  /** Null: two-factor authentication is off. */
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

/** A code that was found right, and is yet to be used up in the transaction of what it is for. */
export type AcceptedCode = { sealed: string } & ({ kind: 'totp'; step: number } | { kind: 'recovery'; hash: string });

export interface SecondFactor {
  /**
   * Asks for the second factor of a login, whichever way it goes: by password or by provider.
   * @param otp a one-time password or a recovery code
   * @returns what `use` must record in the transaction of the login; null for a user without two-factor authentication
   * @throws {ApiError} INVALID_OTP when it is missing, wrong or used; REQUESTS_EXCEEDED
   */
  require(holder: Holder, otp: string | undefined): Promise<AcceptedCode | null>;
  /**
   * Judges a code. Each one counts as an attempt, and from the fifth wrong one in a row on none is looked at for a while.
   * @param takes whether recovery codes count
   * @returns undefined when it is wrong or used
   * @throws {ApiError} REQUESTS_EXCEEDED
   */
  judge(holder: Holder, code: string, takes: 'totp' | 'any'): Promise<AcceptedCode | undefined>;
  /**
   * Uses a code up. When it fails the transaction must be rolled back.
   * @returns false when it was used, or the secret changed, since it was judged
   */
  use(tx: Executor, userId: string, code: AcceptedCode): Promise<boolean>;
}

const second = 1_000;

/** The lock grows with every further failure, but ends: whoever has the right code gets in then. */
export const attemptRules: AttemptRules = { limit: 5, firstLock: 30 * second, longestLock: 900 * second };

export function createSecondFactor({ db, box, clock }: { db: Executor; box: SecretBox; clock: Clock }): SecondFactor {
  /** Before the code is looked at, and committed at once: what fails later counts all the same. */
  const reserve = async (userId: string) => {
    const now = clock();
    if (await reserveAttempt(db, userId, now, attemptRules)) return;
    const until = await findLock(db, userId);
    // The lock may have been lifted between the two statements; then the next attempt is let through.
    const wait = until !== null && until > now ? until.getTime() - now.getTime() : second;
    throw requestsExceeded(attemptRules.limit, wait, now);
  };

  const judge: SecondFactor['judge'] = async ({ id, tfaSecret: sealed, tfaLastStep }, code, takes) => {
    if (sealed === null) return undefined;
    await reserve(id);
    const hash = takes === 'any' ? hashRecoveryCode(code) : undefined;
    if (hash !== undefined)
      return (await hasRecoveryCode(db, id, hash)) ? { kind: 'recovery', sealed, hash } : undefined;
    const step = matchStep(box.open(sealed, id), code, clock());
    const isUsed = step !== null && tfaLastStep !== null && step <= tfaLastStep;
    return step === null || isUsed ? undefined : { kind: 'totp', sealed, step };
  };

  return {
    judge,

    require: async (holder, otp) => {
      if (holder.tfaSecret === null) return null;
      // The first step of a login in two steps: nothing was guessed.
      const accepted = otp === undefined ? undefined : await judge(holder, otp, 'any');
      if (!accepted) throw new ApiError('INVALID_OTP');
      return accepted;
    },

    use: async (tx, userId, code) =>
      code.kind === 'totp'
        ? // Sealed anew on the way, so that a previous SECRET need not be kept for ever.
          useStep(tx, userId, { checked: code.sealed, kept: box.renew(code.sealed, userId) }, code.step)
        : useRecoveryCode(tx, userId, code.sealed, code.hash),
  };
}
