import type { Executor } from '../../../db/client.js';
import type { AttemptRules } from '../../../db/queries/auth/lockout.js';
import {
  findLock,
  hasRecoveryCode,
  reserveAttempt,
  shortenLastStep,
  shortenLock,
  useRecoveryCode,
  useStep,
} from '../../../db/queries/tfa/two-factor.js';
import { ApiError } from '../../../schemas/errors.js';
import type { Activity, ActivityEvent } from '../../activity/service.js';
import type { Clock } from '../../platform/clock.js';
import type { SecretBox } from '../../platform/encryption.js';
import type { Client, Origin } from '../../server/client-info.js';
import { requestsExceeded } from '../../server/requests-exceeded.js';
import { hashRecoveryCode } from './recovery-codes.js';
import { matchStep, stepAt, stepLength } from './totp.js';

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
  require(holder: Holder, otp: string | undefined, client: Client): Promise<AcceptedCode | null>;
  /**
   * Judges a code. Each one counts as an attempt, and from the fifth wrong one in a row on none is looked at for a while.
   * @param takes whether recovery codes count
   * @returns undefined when it is wrong or used
   * @throws {ApiError} REQUESTS_EXCEEDED
   */
  judge(holder: Holder, code: string, takes: 'totp' | 'any', client: Client): Promise<AcceptedCode | undefined>;
  /**
   * Uses a code up. When it fails the transaction must be rolled back.
   * @param purpose what is recorded along with it, when that is not a login
   * @returns false when it was used, or the secret changed, since it was judged
   */
  use(
    tx: Executor,
    userId: string,
    code: AcceptedCode,
    origin: Origin,
    purpose?: readonly ActivityEvent[],
  ): Promise<boolean>;
}

const second = 1_000;

/** The lock grows with every further failure, but ends: whoever has the right code gets in then. */
export const attemptRules: AttemptRules = { limit: 5, firstLock: 30 * second, longestLock: 900 * second };

export function createSecondFactor(deps: {
  db: Executor;
  box: SecretBox;
  clock: Clock;
  activity: Pick<Activity, 'record'>;
}): SecondFactor {
  const { db, box, clock, activity } = deps;

  /** Before the code is looked at, and committed at once: what fails later counts all the same. */
  const reserve = async (userId: string): Promise<{ locks: boolean }> => {
    const now = clock();
    const { mayGoOn, locks } = await reserveAttempt(db, userId, now, attemptRules);
    if (mayGoOn) return { locks };
    const latest = new Date(now.getTime() + attemptRules.longestLock);
    const found = await findLock(db, userId);
    const until = found !== null && found > latest ? latest : found;
    if (found !== until) await shortenLock(db, userId, latest);
    // The lock may have been lifted between the two statements; then the next attempt is let through.
    const wait = until !== null && until > now ? until.getTime() - now.getTime() : second;
    throw requestsExceeded(attemptRules.limit, wait, now);
  };

  const look = async (
    { id, tfaLastStep }: Holder,
    sealed: string,
    code: string,
    takes: 'totp' | 'any',
  ): Promise<AcceptedCode | undefined> => {
    const hash = takes === 'any' ? hashRecoveryCode(code) : undefined;
    if (hash !== undefined)
      return (await hasRecoveryCode(db, id, hash)) ? { kind: 'recovery', sealed, hash } : undefined;
    const latest = stepAt(clock()) + attemptRules.longestLock / stepLength;
    if (tfaLastStep !== null && tfaLastStep > latest) await shortenLastStep(db, id, latest);
    const step = matchStep(box.open(sealed, id), code, clock());
    const isUsed = step !== null && tfaLastStep !== null && step <= tfaLastStep;
    return step === null || isUsed ? undefined : { kind: 'totp', sealed, step };
  };

  const judge: SecondFactor['judge'] = async (holder, code, takes, client) => {
    const { id, tfaSecret: sealed } = holder;
    if (sealed === null) return undefined;
    const { locks } = await reserve(id);
    const accepted = await look(holder, sealed, code, takes);
    if (!accepted && locks) {
      await activity.record(db, { userId: null, client }, [{ action: 'lock', collection: 'users', item: id }]);
    }
    return accepted;
  };

  return {
    judge,

    require: async (holder, otp, client) => {
      if (holder.tfaSecret === null) return null;
      // The first step of a login in two steps: nothing was guessed.
      const accepted = otp === undefined ? undefined : await judge(holder, otp, 'any', client);
      if (!accepted) throw new ApiError('INVALID_OTP').concerning(holder.id);
      return accepted;
    },

    use: async (tx, userId, code, origin, purpose = []) => {
      const isUsed =
        code.kind === 'totp'
          ? // Sealed anew on the way, so that a previous SECRET need not be kept for ever.
            await useStep(tx, userId, { checked: code.sealed, kept: box.renew(code.sealed, userId) }, code.step)
          : await useRecoveryCode(tx, userId, code.sealed, code.hash);
      if (!isUsed) return false;
      const use = { action: 'recovery_code_used', collection: 'users', item: userId } as const;
      const events = code.kind === 'recovery' ? [use, ...purpose] : purpose;
      if (events.length > 0) await activity.record(tx, origin, events);
      return true;
    },
  };
}
