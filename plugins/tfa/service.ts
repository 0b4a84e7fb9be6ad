import type { Executor } from '../../db/client.js';
import { readAccountStates } from '../../db/queries/recipients.js';
import { deleteSessionsOf } from '../../db/queries/sessions.js';
import {
  findTwoFactorUser,
  lockTwoFactorUser,
  removeTfa,
  replaceRecoveryCodes,
  type TwoFactorUser,
  writeTfaSecret,
} from '../../db/queries/two-factor.js';
import type { ActivityAction } from '../../schemas/activity.js';
import { uuidPattern } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../access/service.js';
import type { Activity } from '../activity/service.js';
import type { Client } from '../client.js';
import type { Clock } from '../clock.js';
import type { PasswordChecks } from '../password-checks/service.js';
import type { SecretBox } from '../secret-box.js';
import { hashRecoveryCode, newRecoveryCodes } from './recovery-codes.js';
import { requireRightToSecret, requireRightUnlessForced } from './rights.js';
import type { SecondFactor } from './second-factor.js';
import { matchStep, newSecret, otpauthUrl, readSecret } from './totp.js';

export interface TwoFactor {
  /**
   * Makes a secret for the caller to set up an authenticator app with; nothing is stored (contract 2.13).
   * @throws {ApiError} INVALID_PAYLOAD, REQUESTS_EXCEEDED, INVALID_CREDENTIALS when the password is wrong
   */
  generate(
    caller: Principal,
    password: string | undefined,
    client: Client,
  ): Promise<{ secret: string; otpauth_url: string }>;
  /**
   * Turns two-factor authentication on and ends the caller's other sessions.
   * @throws {ApiError} FORBIDDEN, INVALID_PAYLOAD, FAILED_VALIDATION
   */
  enable(caller: Principal, secret: string, otp: string): Promise<void>;
  /**
   * Turns it off and ends the caller's other sessions.
   * @param otp a one-time password or a recovery code
   * @throws {ApiError} FORBIDDEN, INVALID_PAYLOAD, FAILED_VALIDATION, REQUESTS_EXCEEDED
   */
  disable(caller: Principal, otp: string): Promise<void>;
  /** Turns it off for somebody who cannot, and ends all their sessions. @throws {ApiError} FORBIDDEN */
  disableFor(caller: Principal, userId: string): Promise<void>;
  /**
   * Makes new recovery codes in place of all earlier ones.
   * @param proof that it is the user and not somebody at their open session
   * @throws {ApiError} FORBIDDEN, INVALID_PAYLOAD, INVALID_CREDENTIALS, INVALID_OTP, REQUESTS_EXCEEDED
   */
  renewRecoveryCodes(
    caller: Principal,
    proof: { password?: string | undefined; otp?: string | undefined },
    client: Client,
  ): Promise<string[]>;
}

const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });
const alreadyOn = () => refuse('Two-factor authentication is on already');
const notOn = () => refuse('Two-factor authentication is not on');
const wrongOtp = () => refuse('otp is wrong, or was used already');

export function createTwoFactor(deps: {
  db: Executor;
  box: SecretBox;
  clock: Clock;
  passwordChecks: Pick<PasswordChecks, 'check'>;
  secondFactor: SecondFactor;
  activity: Pick<Activity, 'record'>;
  projectName(): Promise<string>;
}): TwoFactor {
  const { db, box, clock, passwordChecks, secondFactor, activity, projectName } = deps;

  const eventOf = (action: ActivityAction, item: string) => ({ action, collection: 'users', item }) as const;
  const record = (tx: Executor, caller: Principal, action: ActivityAction, item: string) =>
    activity.record(tx, caller, [eventOf(action, item)]);

  const findOwn = async ({ userId }: Principal): Promise<TwoFactorUser> => {
    const user = await findTwoFactorUser(db, userId);
    if (!user) throw new ApiError('INVALID_CREDENTIALS');
    return user;
  };

  const requirePassword = async (user: TwoFactorUser, password: string, client: Client) => {
    if (!(await passwordChecks.check(user, password, client))) throw new ApiError('INVALID_CREDENTIALS');
  };

  return {
    generate: async (caller, password, client) => {
      const user = await findOwn(caller);
      const hasOwnPassword = user.provider === 'default';
      if (hasOwnPassword && password === undefined) throw refuse('password is needed');
      if (user.tfaSecret !== null) throw alreadyOn();
      if (hasOwnPassword && password !== undefined) await requirePassword(user, password, client);
      const secret = newSecret();
      await record(db, caller, 'tfa_generate', user.id);
      return { secret, otpauth_url: otpauthUrl(secret, await projectName(), user.email ?? user.id) };
    },

    enable: async (caller, given, otp) => {
      const requireValid = await requireRightUnlessForced(db, caller, clock());
      const secret = readSecret(given);
      if (secret === undefined) throw refuse('secret must be base32, of at least 128 bits');
      const user = await findOwn(caller);
      if (user.tfaSecret !== null) throw alreadyOn();
      const step = matchStep(secret, otp, clock());
      if (step === null) throw wrongOtp().concerning(user.id);
      await db.transaction(async (tx) => {
        if (!(await writeTfaSecret(tx, user.id, box.seal(secret, user.id), step))) throw alreadyOn();
        await replaceRecoveryCodes(tx, user.id, []);
        await requireValid(tx);
        await deleteSessionsOf(tx, [user.id], caller.sessionId);
        await record(tx, caller, 'tfa_enable', user.id);
      });
    },

    disable: async (caller, otp) => {
      const requireValid = await requireRightToSecret(db, caller, clock());
      const user = await findOwn(caller);
      if (user.tfaSecret === null) throw notOn();
      const accepted = await secondFactor.judge(user, otp, 'any', caller.client);
      if (!accepted) throw wrongOtp().concerning(user.id);
      await db.transaction(async (tx) => {
        const isUsed = await secondFactor.use(tx, user.id, accepted, caller, [eventOf('tfa_disable', user.id)]);
        if (!isUsed) throw wrongOtp().concerning(user.id);
        await removeTfa(tx, user.id);
        await requireValid(tx);
        await deleteSessionsOf(tx, [user.id], caller.sessionId);
      });
    },

    disableFor: async (caller, userId) => {
      if (!caller.admin || !uuidPattern.test(userId)) throw new ApiError('FORBIDDEN');
      await db.transaction(async (tx) => {
        const [former] = await readAccountStates(tx, [userId]);
        if (!former || !(await removeTfa(tx, userId))) throw new ApiError('FORBIDDEN');
        await deleteSessionsOf(tx, [userId], null);
        await activity.record(tx, caller, [{ ...eventOf('tfa_disable', former.id), aside: { former } }]);
      });
    },

    renewRecoveryCodes: async (caller, { password, otp }, client) => {
      await requireRightUnlessForced(db, caller, clock());
      const user = await findOwn(caller);
      const shownPassword = user.provider === 'default' ? password : undefined;
      if (shownPassword === undefined && otp === undefined) throw refuse('password or otp is needed');
      if (user.tfaSecret === null) throw notOn();
      // Whatever is shown must be right.
      if (shownPassword !== undefined) await requirePassword(user, shownPassword, client);
      // A recovery code is for getting in; it makes no others.
      const accepted = otp === undefined ? null : await secondFactor.judge(user, otp, 'totp', client);
      if (accepted === undefined) throw new ApiError('INVALID_OTP');

      const codes = newRecoveryCodes();
      await db.transaction(async (tx) => {
        const current = await lockTwoFactorUser(tx, user.id);
        // What was shown was right for the user as they were.
        const isSame = current?.tfaSecret === user.tfaSecret && current.password === user.password;
        if (!isSame) throw new ApiError('INVALID_CREDENTIALS');
        if (accepted && !(await secondFactor.use(tx, user.id, accepted, caller))) throw new ApiError('INVALID_OTP');
        await replaceRecoveryCodes(tx, user.id, codes.map(hashOf));
        await record(tx, caller, 'recovery_codes', user.id);
      });
      return codes;
    },
  };
}

const hashOf = (code: string): string => {
  const hash = hashRecoveryCode(code);
  if (hash === undefined) throw new Error('A recovery code of ours cannot be read.');
  return hash;
};
