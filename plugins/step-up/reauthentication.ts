import { lockTwoFactorUser } from '../../db/queries/second-factor/two-factor.js';
import { ApiError, invalidCredentials } from '../../schemas/errors.js';
import type { PasskeyCredential } from '../../schemas/passkeys.js';
import type { Principal } from '../http/caller.js';
import { requireSession } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';
import type { PasskeyProof } from '../webauthn/proofs.js';
import type { EmailProofs } from './email-proofs.js';
import type { OwnCredentials, OwnPassword } from './own-password.js';
import type { StepUp } from './service.js';

/** The credentials with which a user proves their identity. */
export interface IdentityProof {
  password?: string | undefined;
  /** A one-time password or a recovery code. */
  otp?: string | undefined;
  /** A code from an email, for users who have neither a password nor a passkey. */
  code?: string | undefined;
  /** A passkey's response to a challenge for signing in. */
  credential?: PasskeyCredential | undefined;
}

/**
 * Makes the caller's session fresh. Users with two-factor authentication must send a one-time password, or use a passkey that
 * verifies them, and may also send the password. Users who have a passkey and to whom `enforce_tfa` applies must use a passkey that
 * verifies them, after which the session satisfies `enforce_tfa`.
 * Each credential in the request is checked, and counted like a login attempt.
 * @throws {ApiError} INVALID_PAYLOAD, INVALID_CREDENTIALS, INVALID_OTP, REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
 */
export type Reauthenticate = (caller: Principal, proof: IdentityProof) => Promise<void>;

export function createReauthenticate(
  { config, db, secondFactor, passwordChecks, passkeyProofs, activity }: Services,
  own: { ownPassword: OwnPassword; emailProofs: EmailProofs; stepUp: StepUp },
): Reauthenticate {
  const { ownPassword, emailProofs, stepUp } = own;

  /** @returns the request that the code from an email belongs to */
  const requireEmailCode = (
    caller: Principal,
    user: Pick<OwnCredentials, 'id' | 'email'>,
    code: string,
  ): Promise<string> =>
    passwordChecks.requireBy(
      user,
      caller.client,
      async () => {
        const { id: sessionId } = requireSession(caller);
        const methods = await stepUp.methodsOf(caller);
        if (!methods.includes('email')) return undefined;
        return emailProofs.check(user.id, 'reauthentication', code, [['session', sessionId]]);
      },
      'wrong_code',
    );

  const requirePasskey = (
    { client }: Principal,
    user: Pick<OwnCredentials, 'id' | 'email'>,
    credential: PasskeyCredential,
  ): Promise<PasskeyProof> => {
    if (!config.AUTH_PASSKEYS) throw new ApiError('INVALID_PAYLOAD', { reason: 'Passkeys are turned off' });
    const check = async () => {
      const { holder, proof } = await passkeyProofs.check(credential);
      return holder?.id === user.id ? proof : undefined;
    };
    return passwordChecks.requireBy(user, client, check, 'wrong_passkey');
  };

  return async (caller, { password, otp, code: emailCode, credential }) => {
    if (password === undefined && otp === undefined && emailCode === undefined && credential === undefined) {
      throw new ApiError('INVALID_PAYLOAD', { reason: 'password, otp, code, or credential is required' });
    }
    const user = await ownPassword.read(caller);
    if (password !== undefined) await ownPassword.require(caller, user, password);
    const request = emailCode === undefined ? undefined : await requireEmailCode(caller, user, emailCode);
    const passkey = credential === undefined ? undefined : await requirePasskey(caller, user, credential);
    const isVerifiedByPasskey = passkey?.isUserVerified === true;
    const needsCode = otp !== undefined || !isVerifiedByPasskey;
    const code = needsCode ? await secondFactor.require(user, otp, caller.client) : null;
    // Without two-factor authentication, `otp` proves nothing.
    if (code === null && password === undefined && request === undefined && passkey === undefined)
      throw new ApiError('INVALID_OTP').concerning(user.id);

    const event = { action: 'reauthenticate', collection: 'users', item: user.id } as const;
    await db.transaction(async (tx) => {
      // The checks above used credentials that may have changed since.
      const current = await lockTwoFactorUser(tx, user.id);
      const isSame =
        current?.tfaSecret === user.tfaSecret && (password === undefined || current.password === user.password);
      if (!isSame) throw invalidCredentials(user.id, 'user_changed');
      const hasSecondFactor = code !== null || isVerifiedByPasskey;
      if (!hasSecondFactor && (await stepUp.needsSecondFactor(caller, tx)))
        throw invalidCredentials(user.id, 'one_factor');
      const isUsed = request === undefined || (await emailProofs.consume(tx, user.id, request));
      if (!isUsed) throw invalidCredentials(user.id, 'wrong_code');
      const isSigned = passkey === undefined || (await passkeyProofs.consume(tx, passkey, caller));
      if (!isSigned) throw invalidCredentials(user.id, 'wrong_passkey');
      if (code) await secondFactor.consume(tx, user.id, code, caller);
      const proved = { password: password !== undefined, email: request !== undefined, passkey, code };
      const isMarked = await stepUp.markFresh(caller, tx, proved);
      if (!isMarked) throw new ApiError('INVALID_CREDENTIALS').concerning(user.id);
      await activity.record(tx, caller, [event]);
    });
  };
}
