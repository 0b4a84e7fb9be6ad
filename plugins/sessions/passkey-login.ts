import { transact } from '../../db/statements.js';
import { reasonOfStatus } from '../../schemas/activity.js';
import { invalidCredentials } from '../../schemas/errors.js';
import type { PasskeyCredential } from '../../schemas/passkeys.js';
import type { SessionMode } from '../../schemas/sessions.js';
import type { Client } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import { padRefusal } from '../platform/response-time-padding.js';
import type { IssuedSession, SessionIssuer } from './issuing.js';

export interface PasskeyLogin {
  credential: PasskeyCredential;
  /** A one-time password or a recovery code. */
  otp?: string | undefined;
  mode: SessionMode;
}

/**
 * Logs in with a passkey, and creates a session. If the authenticator verified the user, this counts as two factors. A signature
 * cannot be guessed, so a wrong one counts only against the client's address, and an account lock does not apply.
 * @throws {ApiError} INVALID_CREDENTIALS, identical for every reason; INVALID_OTP, after which the same credential can be sent again;
 *   REQUESTS_EXCEEDED
 */
export type LogInWithPasskey = (login: PasskeyLogin, client: Client) => Promise<IssuedSession>;

export function createPasskeyLogin(
  { db, passkeyProofs, secondFactor, rateLimits }: Services,
  begin: SessionIssuer['begin'],
): LogInWithPasskey {
  const logIn: LogInWithPasskey = async ({ credential, otp, mode }, client) => {
    const { holder, proof } = await passkeyProofs.check(credential);
    const isActive = holder?.status === 'active';
    if (!holder || !proof || !isActive) {
      const reason = holder && !isActive ? reasonOfStatus(holder.status) : 'wrong_passkey';
      throw (await rateLimits.countLogin(client.network)) ?? invalidCredentials(holder?.id, reason);
    }
    const { id, tfaSecret } = holder;
    const code = proof.isUserVerified ? null : await secondFactor.require(holder, otp, client);
    return transact(db, async (tx) => {
      const changes = { proved: { passkey: proof, code }, hasOwnNotice: code?.kind === 'recovery' };
      const issued = await begin(tx, { id, tfaSecret }, mode, client, changes);
      if (!issued) throw invalidCredentials(id, 'user_changed');
      if (!(await passkeyProofs.consume(tx, proof, { userId: id, client })))
        throw invalidCredentials(id, 'wrong_passkey');
      if (code) await secondFactor.consume(tx, id, code, { userId: id, client });
      return issued;
    });
  };

  return (login, client) => padRefusal(() => logIn(login, client));
}
