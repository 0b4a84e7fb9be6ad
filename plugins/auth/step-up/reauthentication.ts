import type { Executor } from '../../../db/client.js';
import { lockTwoFactorUser } from '../../../db/queries/tfa/two-factor.js';
import { ApiError } from '../../../schemas/errors.js';
import type { Activity } from '../../activity/service.js';
import type { Principal } from '../../server/caller.js';
import type { SecondFactor } from '../second-factor/service.js';
import type { OwnPassword } from './own-password.js';
import type { StepUp } from './service.js';

/** What a user proves their identity with. */
export interface Proof {
  password?: string | undefined;
  /** A one-time password or a recovery code. */
  otp?: string | undefined;
}

/**
 * Makes the caller's session fresh. Users with two-factor authentication need the code; the password may come with it.
 * Everything that is presented is checked, and counted like an attempt to log in.
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
      // What was presented was correct for the user as they were.
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
