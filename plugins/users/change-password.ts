import { readOwnTexts } from '../../db/queries/mail/recipients.js';
import { leaveProvider } from '../../db/queries/providers/identities.js';
import { lockTwoFactorUser } from '../../db/queries/second-factor/two-factor.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { writePassword } from '../../db/queries/users/users.js';
import { invalidCredentials } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';

/**
 * Changes the caller's password and ends their other sessions. Users of a provider can then sign in with the password; their account at
 * the provider stays linked.
 * @param currentPassword can replace a fresh session, for users without two-factor authentication
 * @throws {ApiError} FORBIDDEN for a managed user; REAUTHENTICATION_REQUIRED, INVALID_CREDENTIALS, FAILED_VALIDATION, INVALID_PAYLOAD, REQUESTS_EXCEEDED,
 *   SERVICE_UNAVAILABLE
 */
export type ChangePassword = (
  caller: Principal,
  password: string,
  currentPassword: string | undefined,
) => Promise<void>;

export function createChangePassword({
  db,
  dbOf,
  stepUp,
  ownPassword,
  signInMethods,
  passwords,
  passwordRules,
  activity,
}: Services): ChangePassword {
  return async (caller, password, currentPassword) => {
    const { userId } = caller;
    const former = await ownPassword.read(caller);
    await stepUp.requireProofForOwnRow(caller, currentPassword);
    const [own] = await readOwnTexts(db, [userId]);
    await passwordRules.check([{ password, ownTexts: own?.texts ?? [] }], caller);
    const hash = await passwords.hash(password, caller);
    await dbOf(caller).transaction(async (tx) => {
      const current = await lockTwoFactorUser(tx, userId);
      // The stored password must still be the one that was checked.
      const isSame = currentPassword === undefined || current?.password === former.password;
      if (!current || !isSame) throw invalidCredentials(userId, 'user_changed');
      await stepUp.requireStillProved(tx, caller);
      signInMethods.requireUnmanaged(current);
      await writePassword(tx, userId, hash);
      // Otherwise the user could not sign in with the password.
      const left = await leaveProvider(tx, userId);
      await deleteSessionsOf(tx, [userId], sessionIdOf(caller));
      await activity.record(tx, caller, [
        { action: 'password_change', collection: 'users', item: userId, changed: ['password', ...left] },
      ]);
    });
  };
}
