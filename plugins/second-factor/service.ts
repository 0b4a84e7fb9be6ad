import type { Executor } from '../../db/client.js';
import {
  findLock,
  hasRecoveryCode,
  reserveAttempt,
  shortenLastStep,
  shortenLock,
  useRecoveryCode,
  useStep,
} from '../../db/queries/second-factor/two-factor.js';
import { ApiError } from '../../schemas/errors.js';
import type { ActivityEvent } from '../activity/service.js';
import type { Client, Origin } from '../http/caller.js';
import type { SecretBox } from '../platform/encryption.js';
import type { Services } from '../platform/plugin.js';
import { countAttempt, lockRules } from '../rate-limits/lockout.js';
import { hashRecoveryCode } from './recovery-codes.js';
import { matchStep, stepAt, stepLength } from './totp.js';

/** The user whose second factor is checked, as just read from the database. */
export interface SecondFactorUser {
  id: string;
  /** Null if two-factor authentication is off. */
  tfaSecret: string | null;
  tfaLastStep: number | null;
}

/** A code that is correct but not yet used. `SecondFactor.consume` consumes it, in the transaction of the operation that requires it. */
export type AcceptedCode = { sealed: string } & ({ kind: 'totp'; step: number } | { kind: 'recovery'; hash: string });

export interface SecondFactor {
  /**
   * Requires the second factor of a login, for every login method.
   * @param otp a one-time password or a recovery code
   * @returns the code to pass to `consume` in the transaction of the login; null for a user without two-factor authentication
   * @throws {ApiError} INVALID_OTP if the code is missing, wrong or already used; REQUESTS_EXCEEDED
   */
  require(holder: SecondFactorUser, otp: string | undefined, client: Client): Promise<AcceptedCode | null>;
  /**
   * Checks a code. Each check counts as an attempt. After the fifth wrong code in a row, and after each further one, the service
   * rejects all codes for some time.
   * @param accepts `any` also accepts recovery codes
   * @returns undefined if the code is wrong or already used
   * @throws {ApiError} REQUESTS_EXCEEDED
   */
  check(
    holder: SecondFactorUser,
    code: string,
    accepts: 'totp' | 'any',
    client: Client,
  ): Promise<AcceptedCode | undefined>;
  /**
   * Consumes a code.
   * @param furtherEvents further events for the audit log, if the code is not for a login
   * @throws {ApiError} INVALID_OTP if the code was used or the secret was changed since the check; the caller must roll back the
   *   transaction
   */
  consume(
    tx: Executor,
    userId: string,
    code: AcceptedCode,
    origin: Origin,
    furtherEvents?: readonly ActivityEvent[],
  ): Promise<void>;
}

/** How many wrong codes in a row cause a lock. */
const limit = 5;

export function createSecondFactor({ db, clock, activity }: Services, box: SecretBox): SecondFactor {
  /** @returns whether a wrong code starts a lock */
  const count = (user: string): Promise<boolean> => {
    const now = clock();
    return countAttempt(
      {
        limit,
        user,
        reserve: (rules) => reserveAttempt(db, user, now, rules),
        readLock: async () => (await findLock(db, user))?.getTime() ?? 0,
        shortenLock: (latest) => shortenLock(db, user, latest),
      },
      now,
    );
  };

  const findAccepted = async (
    { id, tfaLastStep }: SecondFactorUser,
    sealed: string,
    code: string,
    takes: 'totp' | 'any',
  ): Promise<AcceptedCode | undefined> => {
    const hash = takes === 'any' ? hashRecoveryCode(code) : undefined;
    if (hash !== undefined)
      return (await hasRecoveryCode(db, id, hash)) ? { kind: 'recovery', sealed, hash } : undefined;
    const latest = stepAt(clock()) + lockRules.maxLockMs / stepLength;
    if (tfaLastStep !== null && tfaLastStep > latest) await shortenLastStep(db, id, latest);
    const step = matchStep(box.open(sealed, id), code, clock());
    const isUsed = step !== null && tfaLastStep !== null && step <= tfaLastStep;
    return step === null || isUsed ? undefined : { kind: 'totp', sealed, step };
  };

  const check: SecondFactor['check'] = async (holder, code, takes, client) => {
    const { id, tfaSecret: sealed } = holder;
    if (sealed === null) return undefined;
    const locks = await count(id);
    const accepted = await findAccepted(holder, sealed, code, takes);
    if (!accepted && locks) {
      await activity.record(db, { userId: null, client }, [{ action: 'lock', collection: 'users', item: id }]);
    }
    return accepted;
  };

  return {
    check,

    require: async (holder, otp, client) => {
      if (holder.tfaSecret === null) return null;
      // Without a code, this is the first step of a two-step login, and does not count as an attempt.
      const accepted = otp === undefined ? undefined : await check(holder, otp, 'any', client);
      if (!accepted) {
        const reason = otp === undefined ? 'missing_code' : 'wrong_code';
        throw new ApiError('INVALID_OTP').concerning(holder.id).because(reason);
      }
      return accepted;
    },

    consume: async (tx, userId, code, origin, purpose = []) => {
      const isUsed =
        code.kind === 'totp'
          ? // Encrypts the secret again with the current SECRET, so that a previous one can be removed eventually.
            await useStep(tx, userId, { checked: code.sealed, kept: box.renew(code.sealed, userId) }, code.step)
          : await useRecoveryCode(tx, userId, code.sealed, code.hash);
      if (!isUsed) throw new ApiError('INVALID_OTP').concerning(userId).because('wrong_code');
      const use = { action: 'recovery_code_used', collection: 'users', item: userId } as const;
      const events = code.kind === 'recovery' ? [use, ...purpose] : purpose;
      if (events.length > 0) await activity.record(tx, origin, events);
    },
  };
}
