import { findTwoFactorUser, type TwoFactorUser } from '../../db/queries/second-factor/two-factor.js';
import { ApiError } from '../../schemas/errors.js';
import type { Caller } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';

/** A user's credentials at the time they were read. `password` is null if the user cannot sign in with a password. */
export type OwnCredentials = TwoFactorUser & { id: string };

export interface OwnPassword {
  /** @throws {ApiError} INVALID_CREDENTIALS when the user no longer exists */
  read(caller: Caller): Promise<OwnCredentials>;
  /**
   * Checks the caller's password. Attempts are counted together with login attempts.
   * @throws {ApiError} INVALID_CREDENTIALS, REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE
   */
  require(caller: Caller, user: OwnCredentials, password: string): Promise<void>;
}

export function createOwnPassword({ db, passwordChecks, signInMethods }: Services): OwnPassword {
  return {
    read: async ({ userId }) => {
      const user = userId === null ? undefined : await findTwoFactorUser(db, userId);
      if (!user) throw new ApiError('INVALID_CREDENTIALS');
      return { ...user, password: signInMethods.allowsPassword(user) ? user.password : null };
    },

    require: ({ client }, user, password) => passwordChecks.require(user, password, client),
  };
}
