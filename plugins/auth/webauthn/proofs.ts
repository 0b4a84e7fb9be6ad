import type { Executor } from '../../../db/client.js';
import { findPasskey, type PasskeyHolder, usePasskey } from '../../../db/queries/auth/passkeys.js';
import { spendState } from '../../../db/queries/auth/spent-states.js';
import type { PasskeyCredential } from '../../../schemas/passkeys.js';
import type { Clock } from '../../platform/clock.js';
import type { Assertion, WebAuthn } from './service.js';

/** A valid, unused signature with a passkey. */
export interface PasskeyProof extends Assertion {
  passkey: string;
}

/** Proofs of identity with a passkey. */
export interface PasskeyProofs {
  /**
   * Checks the response of a browser. The work is the same whether or not the passkey exists.
   * @returns `holder`: the user of the passkey, whatever their status; `proof`: undefined if the response is not valid
   */
  check(credential: PasskeyCredential): Promise<{ holder: PasskeyHolder | undefined; proof: PasskeyProof | undefined }>;
  /**
   * Uses up the challenge, and stores the counter of the authenticator. Lock the user's row first.
   * @returns false if the challenge or the counter was used, or the passkey removed, since the check; the caller must roll back the
   *   transaction
   */
  use(tx: Executor, proof: PasskeyProof): Promise<boolean>;
}

export function createPasskeyProofs(deps: {
  db: Executor;
  clock: Clock;
  webauthn: Pick<WebAuthn, 'verifyAssertion'>;
}): PasskeyProofs {
  const { db, clock, webauthn } = deps;
  return {
    check: async (credential) => {
      const found = await findPasskey(db, credential.id);
      const assertion = await webauthn.verifyAssertion(credential, found?.passkey);
      const proof = found && assertion && { ...assertion, passkey: found.passkey.id };
      return { holder: found?.holder, proof };
    },

    use: async (tx, { passkey, challenge, counter, isBackedUp }) =>
      (await spendState(tx, challenge.id, challenge.expiresAt)) &&
      (await usePasskey(tx, { id: passkey, counter, isBackedUp }, clock())),
  };
}
