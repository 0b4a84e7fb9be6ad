import type { Executor } from '../../db/client.js';
import { findLoginCandidate, type LoginCandidate } from '../../db/queries/sessions/logins.js';
import { transact } from '../../db/statements.js';
import { type FailureReason, reasonOfStatus } from '../../schemas/activity.js';
import { ApiError, invalidCredentials } from '../../schemas/errors.js';
import type { SessionMode } from '../../schemas/sessions.js';
import type { Client } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { addressToSignIn } from './address-to-sign-in.js';
import type { IssuedSession, SessionIssuer } from './issuing.js';

export interface LoginInput {
  email: string;
  password: string;
  /** A one-time password or a recovery code. */
  otp?: string | undefined;
  mode: SessionMode;
}

/**
 * Logs in with a password, and creates a session.
 * @throws {ApiError} INVALID_CREDENTIALS, identical for every reason; INVALID_OTP; REQUESTS_EXCEEDED; SERVICE_UNAVAILABLE
 */
export type LogIn = (login: LoginInput, client: Client) => Promise<IssuedSession>;

export function createLogin(
  { db, passwords, passwordChecks, secondFactor }: Services,
  begin: SessionIssuer['begin'],
): LogIn {
  /** @returns undefined if the user was changed while the password was being checked */
  const attemptLogin = (
    { email, password, otp, mode }: LoginInput,
    client: Client,
  ): Promise<IssuedSession | undefined> =>
    passwordChecks.runAttempt(email, { userId: null, client }, async (attempt) => {
      const { user, attempts: state } = await findLoginCandidate(db, email, client.network, attempt.keys);
      const canUsePassword = user?.status === 'active' && user.provider === 'default';
      const subject = { id: user?.id ?? null, password: canUsePassword ? user.password : null, state };
      const isRight = await attempt.verify(password, subject);
      if (!user || !isRight) {
        throw invalidCredentials(user?.id, reasonOf(user));
      }

      // The password was correct, whether or not the code is.
      if (user.tfaSecret !== null) await attempt.clear();
      const code = user.tfaSecret === null ? null : await secondFactor.require(user, otp, client);
      const newPassword = await renewedHash(user.password, password, client);

      const complete = async (executor: Executor) => {
        const issued = await begin(executor, user, mode, client, {
          proved: { password: true, code },
          newPassword,
          counted: attempt.counted,
          hasOwnNotice: code?.kind === 'recovery',
        });
        if (issued && code) await secondFactor.consume(executor, user.id, code, { userId: user.id, client });
        return issued;
      };
      // Without a code, this is a single statement, which needs no transaction.
      const issued = await (code ? transact(db, complete) : complete(db));
      if (!issued) await attempt.clear();
      return issued;
    });

  /** A new hash if the hashing parameters have changed, otherwise null. Also null if the queue is full: the login must not fail. */
  const renewedHash = async (stored: string | null, password: string, client: Client): Promise<string | null> => {
    if (stored === null || !passwords.isOutdated(stored)) return null;
    return passwords.hash(password, { userId: null, client }).catch((error: unknown) => {
      if (error instanceof ApiError) return null;
      throw error;
    });
  };

  return async (given, client) => {
    passwords.requireRoom({ userId: null, client });
    const login = { ...given, email: await addressToSignIn(db, given.email) };
    // If the user was changed in the meantime, try once more: a concurrent login may just have renewed the hash.
    const issued = (await attemptLogin(login, client)) ?? (await attemptLogin(login, client));
    if (!issued) throw invalidCredentials(undefined, 'user_changed');
    return issued;
  };
}

/** Why a login was refused. It depends only on what was read before the password was checked, and only the audit log contains it. */
function reasonOf(user: LoginCandidate | undefined): FailureReason {
  if (!user) return 'unknown_user';
  if (user.status !== 'active') return reasonOfStatus(user.status);
  return user.provider === 'default' && user.password !== null ? 'wrong_password' : 'no_password';
}
