import {
  deleteIdentity,
  type IdentityRecord,
  listIdentities,
  lockLoginMethods,
  setPrimaryIdentity,
} from '../../db/queries/providers/identities.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { countPasskeys } from '../../db/queries/webauthn/passkeys.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';

export interface Identities {
  /** The caller's accounts at providers, the primary one first. */
  list(caller: Principal): Promise<IdentityRecord[]>;
  /**
   * Unlinks an account, with which the caller can then no longer log in, and ends the caller's other sessions. If it was the primary
   * account, another account replaces it. Without another account, the password or the passkeys do.
   * @throws {ApiError} FORBIDDEN when the account is not linked to the caller, or the caller is a managed user; UNPROCESSABLE_CONTENT
   *   when the caller could not log in without it
   */
  unlink(caller: Principal, id: string): Promise<void>;
}

export function createIdentities({ db, signInMethods, stepUp, activity }: Services): Identities {
  return {
    list: (caller) => listIdentities(db, caller.userId),

    unlink: (caller, id) =>
      transact(db, async (tx) => {
        const ways = await lockLoginMethods(tx, caller.userId);
        await stepUp.requireStillProved(tx, caller);
        const all = await listIdentities(tx, caller.userId);
        const unlinked = all.find((identity) => identity.id === id.toLowerCase());
        if (!ways || !unlinked) throw new ApiError('FORBIDDEN');
        signInMethods.requireUnmanaged(ways);
        const left = all.filter(
          (identity) => identity !== unlinked && signInMethods.allowsProvider(ways, identity.provider),
        );
        // A provider that determines the roles of its users must not begin to determine the role of this one.
        const next = left.find((identity) => !signInMethods.isManaged(identity)) ?? null;
        const provider = unlinked.primary ? (next?.provider ?? 'default') : ways.provider;
        const mayUsePassword = ways.hasPassword && signInMethods.allowsPassword({ provider });
        const mayUsePasskey = signInMethods.allowsPasskey({ provider }) && (await countPasskeys(tx, caller.userId)) > 0;
        if (left.length === 0 && !mayUsePassword && !mayUsePasskey) {
          throw new ApiError('UNPROCESSABLE_CONTENT', {
            reason: 'You would have no way to log in. Link another account first.',
          });
        }
        await deleteIdentity(tx, unlinked.id);
        if (unlinked.primary) await setPrimaryIdentity(tx, caller.userId, next);
        await deleteSessionsOf(tx, [caller.userId], sessionIdOf(caller));
        const details = { provider: unlinked.provider };
        await activity.record(tx, caller, [
          { action: 'identity_unlink', collection: 'identities', item: unlinked.id, details },
        ]);
      }),
  };
}
