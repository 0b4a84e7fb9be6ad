import type { Executor } from '../../db/client.js';
import {
  deleteRecoveryCodes,
  lockTwoFactorUser,
  removeTfa,
  replaceRecoveryCodes,
  writeTfaSecret,
} from '../../db/queries/second-factor/two-factor.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { readSettings } from '../../db/queries/settings/settings.js';
import type { ActivityAction } from '../../schemas/activity.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';
import { hashRecoveryCode, newRecoveryCodes } from '../second-factor/recovery-codes.js';
import { matchStep, newSecret, otpauthUrl, readSecret } from '../second-factor/totp.js';
import type { IdentityProof } from '../step-up/reauthentication.js';

export interface TwoFactor {
  /**
   * Generates a secret with which the caller can set up an authenticator app. The secret is not stored. The correct password makes
   * the session fresh. Users without a password, and those for whom the password is not enough, need a fresh session.
   * @throws {ApiError} INVALID_PAYLOAD, REAUTHENTICATION_REQUIRED, REQUESTS_EXCEEDED; INVALID_CREDENTIALS when the password is
   *   wrong
   */
  generate(caller: Principal, password: string | undefined): Promise<{ secret: string; otpauth_url: string }>;
  /**
   * Turns two-factor authentication on and ends the caller's other sessions.
   * @throws {ApiError} INVALID_PAYLOAD
   */
  enable(caller: Principal, secret: string, otp: string): Promise<void>;
  /**
   * Turns two-factor authentication off and ends the caller's other sessions.
   * @param otp a one-time password or a recovery code
   * @throws {ApiError} INVALID_PAYLOAD, REQUESTS_EXCEEDED
   */
  disable(caller: Principal, otp: string): Promise<void>;
  /**
   * Creates new recovery codes, which replace all earlier ones.
   * @param proof proves that the caller is the user, and not another person who uses the user's open session
   * @throws {ApiError} INVALID_PAYLOAD, INVALID_CREDENTIALS, INVALID_OTP, REQUESTS_EXCEEDED
   */
  renewRecoveryCodes(caller: Principal, proof: IdentityProof): Promise<string[]>;
}

const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });
const alreadyOn = () => refuse('Two-factor authentication is already on');
const notOn = () => refuse('Two-factor authentication is not on');
const wrongOtp = () => refuse('otp is incorrect or has already been used');

export function createTwoFactor({
  dbOf,
  clock,
  tfaSecrets: box,
  ownPassword,
  stepUp,
  secondFactor,
  activity,
}: Services): TwoFactor {
  const projectName = async (caller: Principal) => (await readSettings(dbOf(caller))).project_name;

  const eventOf = (action: ActivityAction, item: string) => ({ action, collection: 'users', item }) as const;
  const record = (tx: Executor, caller: Principal, action: ActivityAction, item: string) =>
    activity.record(tx, caller, [eventOf(action, item)]);

  return {
    generate: async (caller, password) => {
      const user = await ownPassword.read(caller);
      const hasPassword = user.password !== null;
      if (!hasPassword) await stepUp.requireFresh(caller);
      if (hasPassword && password === undefined) throw refuse('password is required');
      if (user.tfaSecret !== null) throw alreadyOn();
      const isPasswordEnough = hasPassword && !(await stepUp.needsSecondFactor(caller));
      if (!isPasswordEnough) await stepUp.requireFresh(caller);
      if (hasPassword && password !== undefined) await ownPassword.require(caller, user, password);
      const secret = newSecret();
      await dbOf(caller).transaction(async (tx) => {
        if (isPasswordEnough && !(await stepUp.markFresh(caller, tx, { password: true })))
          throw new ApiError('INVALID_CREDENTIALS');
        await record(tx, caller, 'tfa_generate', user.id);
      });
      return { secret, otpauth_url: otpauthUrl(secret, await projectName(caller), user.email ?? user.id) };
    },

    enable: async (caller, given, otp) => {
      const secret = readSecret(given);
      if (secret === undefined) throw refuse('secret must be base32 with at least 128 bits');
      const user = await ownPassword.read(caller);
      if (user.tfaSecret !== null) throw alreadyOn();
      const step = matchStep(secret, otp, clock());
      if (step === null) throw wrongOtp().concerning(user.id).because('wrong_code');
      await dbOf(caller).transaction(async (tx) => {
        await lockTwoFactorUser(tx, user.id);
        await stepUp.requireStillProved(tx, caller);
        if (!(await writeTfaSecret(tx, user.id, box.seal(secret, user.id), step))) throw alreadyOn();
        await deleteRecoveryCodes(tx, user.id);
        await stepUp.noteProved(caller, tx, { code: { step } });
        await deleteSessionsOf(tx, [user.id], sessionIdOf(caller));
        await record(tx, caller, 'tfa_enable', user.id);
      });
    },

    disable: async (caller, otp) => {
      const user = await ownPassword.read(caller);
      if (user.tfaSecret === null) throw notOn();
      const accepted = await secondFactor.check(user, otp, 'any', caller.client);
      if (!accepted) throw wrongOtp().concerning(user.id).because('wrong_code');
      await dbOf(caller).transaction(async (tx) => {
        await secondFactor.consume(tx, user.id, accepted, caller, [eventOf('tfa_disable', user.id)]).catch((error) => {
          throw error instanceof ApiError ? wrongOtp().concerning(user.id).because('wrong_code') : error;
        });
        await stepUp.requireStillProved(tx, caller);
        await removeTfa(tx, user.id);
        await deleteSessionsOf(tx, [user.id], sessionIdOf(caller));
      });
    },

    renewRecoveryCodes: async (caller, { password, otp }) => {
      const user = await ownPassword.read(caller);
      const givenPassword = user.provider === 'default' ? password : undefined;
      if (givenPassword === undefined && otp === undefined) throw refuse('password or otp is required');
      if (user.tfaSecret === null) throw notOn();
      // The password must be correct if it is sent, even if the one-time password would be enough.
      if (givenPassword !== undefined) await ownPassword.require(caller, user, givenPassword);
      // A recovery code is not accepted, because it must not be enough to create new ones.
      const accepted = otp === undefined ? null : await secondFactor.check(user, otp, 'totp', caller.client);
      if (accepted === undefined) throw new ApiError('INVALID_OTP');

      const codes = newRecoveryCodes();
      await dbOf(caller).transaction(async (tx) => {
        const current = await lockTwoFactorUser(tx, user.id);
        // The proof was checked against an earlier state of the user, which must still be current.
        const isSamePassword = givenPassword === undefined || current?.password === user.password;
        if (current?.tfaSecret !== user.tfaSecret || !isSamePassword) throw new ApiError('INVALID_CREDENTIALS');
        if (accepted) await secondFactor.consume(tx, user.id, accepted, caller);
        await stepUp.requireStillProved(tx, caller);
        await replaceRecoveryCodes(tx, user.id, codes.map(hashOf), clock());
        await record(tx, caller, 'recovery_codes', user.id);
      });
      return codes;
    },
  };
}

const hashOf = (code: string): string => {
  const hash = hashRecoveryCode(code);
  if (hash === undefined) throw new Error('A generated recovery code cannot be parsed.');
  return hash;
};
