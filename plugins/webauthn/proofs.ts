import type { Executor } from '../../db/client.js';
import { spendState } from '../../db/queries/providers/spent-states.js';
import { findPasskey, type PasskeyHolder, usePasskey } from '../../db/queries/webauthn/passkeys.js';
import type { PasskeyCredential } from '../../schemas/passkeys.js';
import type { Origin } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import type { Assertion, WebAuthn } from './service.js';

/** A valid, unused signature with a passkey. */
export interface PasskeyProof extends Assertion {
  passkey: string;
  /** Whether the passkey can be synchronized, and could not when it was last used. */
  hasBecomeSynchronized: boolean;
}

/** Proofs of identity with a passkey. */
export interface PasskeyProofs {
  /** Whether a user has this passkey, whatever their status. @param credentialId in base64url */
  isKnown(credentialId: string): Promise<boolean>;
  /**
   * Checks the response of a browser. The work is the same whether or not the passkey exists.
   * @returns `holder`: the user of the passkey, whatever their status; `proof`: undefined if the response is not valid, or
   *   the user cannot sign in with a passkey
   */
  check(credential: PasskeyCredential): Promise<{ holder: PasskeyHolder | undefined; proof: PasskeyProof | undefined }>;
  /**
   * Uses up the challenge, and stores the counter of the authenticator, and whether it synchronizes the passkey. Lock the user's row
   * first.
   * @returns false if the challenge or the counter was used, or the passkey removed, since the check; the caller must roll back the
   *   transaction
   */
  consume(tx: Executor, proof: PasskeyProof, origin: Origin): Promise<boolean>;
}

const eventOf = (item: string) =>
  ({ action: 'update', collection: 'passkeys', item, changed: ['backup_eligible'] }) as const;

export function createPasskeyProofs(
  { db, clock, activity, signInMethods }: Services,
  webauthn: Pick<WebAuthn, 'verifyAssertion'>,
): PasskeyProofs {
  return {
    isKnown: async (credentialId) => (await findPasskey(db, credentialId)) !== undefined,

    check: async (credential) => {
      const found = await findPasskey(db, credential.id);
      const assertion = await webauthn.verifyAssertion(credential, found?.passkey);
      if (!found || !assertion || !signInMethods.allowsPasskey(found.holder))
        return { holder: found?.holder, proof: undefined };
      const hasBecomeSynchronized = assertion.isBackupEligible && !found.passkey.isBackupEligible;
      const proof = { ...assertion, passkey: found.passkey.id, hasBecomeSynchronized };
      return { holder: found.holder, proof };
    },

    consume: async (
      tx,
      { passkey, challenge, counter, isBackupEligible, isBackedUp, hasBecomeSynchronized },
      origin,
    ) => {
      if (!(await spendState(tx, challenge.id, challenge.expiresAt))) return false;
      const isUsed = await usePasskey(tx, { id: passkey, counter, isBackupEligible, isBackedUp }, clock());
      if (isUsed && hasBecomeSynchronized) await activity.record(tx, origin, [eventOf(passkey)]);
      return isUsed;
    },
  };
}
