import type { Executor } from '../../db/client.js';
import { deleteSessionsOf } from '../../db/queries/auth/sessions.js';
import { readOwnTexts } from '../../db/queries/mail/recipients.js';
import { lockTwoFactorUser } from '../../db/queries/tfa/two-factor.js';
import { writePassword } from '../../db/queries/users/users.js';
import { invalidCredentials } from '../../schemas/errors.js';
import type { Activity } from '../activity/service.js';
import type { PasswordRules } from '../auth/password-rules/service.js';
import type { Passwords } from '../auth/passwords/service.js';
import { requireLiveSession } from '../auth/sessions/live-session.js';
import type { OwnPassword } from '../auth/step-up/own-password.js';
import type { StepUp } from '../auth/step-up/service.js';
import type { Principal } from '../server/caller.js';

/**
 * Changes the caller's password and ends their other sessions.
 * @param currentPassword can replace a fresh session, for users without two-factor authentication
 * @throws {ApiError} REAUTHENTICATION_REQUIRED, INVALID_CREDENTIALS, FAILED_VALIDATION, INVALID_PAYLOAD, REQUESTS_EXCEEDED,
 *   SERVICE_UNAVAILABLE
 */
export type ChangePassword = (
  caller: Principal,
  password: string,
  currentPassword: string | undefined,
) => Promise<void>;

export function createChangePassword(deps: {
  db: Executor;
  stepUp: Pick<StepUp, 'requireProofForOwnRow'>;
  ownPassword: OwnPassword;
  passwords: Pick<Passwords, 'hash'>;
  passwordRules: Pick<PasswordRules, 'check'>;
  activity: Pick<Activity, 'record'>;
}): ChangePassword {
  const { db, stepUp, ownPassword, passwords, passwordRules, activity } = deps;

  return async (caller, password, currentPassword) => {
    const { userId } = caller;
    const former = await ownPassword.read(caller);
    await stepUp.requireProofForOwnRow(caller, currentPassword);
    const [own] = await readOwnTexts(db, [userId]);
    await passwordRules.check([{ password, ownTexts: own?.texts ?? [] }], caller);
    const hash = await passwords.hash(password, caller);
    await db.transaction(async (tx) => {
      const current = await lockTwoFactorUser(tx, userId);
      // The stored password must still be the one that was checked.
      const isSame = currentPassword === undefined || current?.password === former.password;
      if (!current || !isSame) throw invalidCredentials(userId, 'user_changed');
      await requireLiveSession(tx, caller);
      await writePassword(tx, userId, hash);
      await deleteSessionsOf(tx, [userId], caller.sessionId);
      await activity.record(tx, caller, [
        { action: 'password_change', collection: 'users', item: userId, changed: ['password'] },
      ]);
    });
  };
}
