import { findProofs } from '../../db/queries/step-up/step-up.js';
import type { Services } from '../platform/plugin.js';

/** Whether a user has a second factor with which they can sign in: an authenticator app, or a passkey. */
export type HasSecondFactor = (user: string) => Promise<boolean>;

export function createHasSecondFactor({ db, signInMethods }: Pick<Services, 'db' | 'signInMethods'>): HasSecondFactor {
  return async (user) => {
    const proofs = await findProofs(db, user);
    return proofs !== undefined && (proofs.has_tfa || (proofs.has_passkey && signInMethods.allowsPasskey(proofs)));
  };
}
