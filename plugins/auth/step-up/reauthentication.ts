import type { Executor } from '../../../db/client.js';
import { lockTwoFactorUser } from '../../../db/queries/tfa/two-factor.js';
import { ApiError } from '../../../schemas/errors.js';
import type { Activity } from '../../activity/service.js';
import type { Principal } from '../../server/caller.js';
import type { SecondFactor } from '../second-factor/service.js';
import type { OwnPassword } from './own-password.js';
import type { StepUp } from './service.js';

/** The credentials with which a user proves their identity. */
export interface Proof {
  password?: string | undefined;
  /** A one-time password or a recovery code. */
  otp?: string | undefined;
}

/**
 * Makes the caller's session fresh. Users with two-factor authentication must send a code, and may also send the password.
 * Each credential in the request is checked, and counted like a login attempt.
 * @throws {ApiError} INVALID_PAYLOAD, INVALID_CREDENTIALS, INVALID_OTP, REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
 */
export type Reauthenticate = (caller: Principal, proof: Proof) => Promise<void>;

export function createReauthenticate(deps: {
  db: Executor;
  ownPassword: OwnPassword;
  secondFactor: SecondFactor;
  stepUp: Pick<StepUp, 'markFresh'>;
  activity: Pick<Activity, 'record'>;
}): Reauthenticate {
  const { db, ownPassword, secondFactor, stepUp, activity } = deps;

  return async (caller, { password, otp }) => {
    if (password === undefined && otp === undefined) {
      throw new ApiError('INVALID_PAYLOAD', { reason: 'password or otp is required' });
    }
    const user = await ownPassword.read(caller);
    if (password !== undefined) await ownPassword.require(caller, user, password);
    const code = await secondFactor.require(user, otp, caller.client);
    // Without two-factor authentication a code proves nothing.
    if (code === null && password === undefined) throw new ApiError('INVALID_OTP').concerning(user.id);

    const event = { action: 'reauthenticate', collection: 'users', item: user.id } as const;
    await db.transaction(async (tx) => {
      // The checks above used credentials that may have changed since.
      const current = await lockTwoFactorUser(tx, user.id);
      const isSame =
        current?.tfaSecret === user.tfaSecret && (password === undefined || current.password === user.password);
      if (!isSame) throw new ApiError('INVALID_CREDENTIALS').concerning(user.id);
      if (code && !(await secondFactor.use(tx, user.id, code, caller))) {
        throw new ApiError('INVALID_OTP').concerning(user.id);
      }
      if (!(await stepUp.markFresh(caller, tx))) throw new ApiError('INVALID_CREDENTIALS').concerning(user.id);
      await activity.record(tx, caller, [event]);
    });
  };
}
