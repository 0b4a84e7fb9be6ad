import type { Executor } from '../../db/client.js';
import {
  deleteIdentity,
  type IdentityRecord,
  listIdentities,
  lockLoginMethods,
  setPrimaryIdentity,
} from '../../db/queries/providers/identities.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { userExists } from '../../db/queries/users/users.js';
import { countPasskeys } from '../../db/queries/webauthn/passkeys.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import type { Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';

type Listed = IdentityRecord & { managed: boolean };

/** Lets users manage their accounts at providers, and administrators those of other users. */
export interface Identities {
  /** The caller's accounts at providers, the primary one first. */
  list(caller: Principal): Promise<Listed[]>;
  /**
   * Unlinks an account, with which the caller can then no longer log in, and ends the caller's other sessions. If it was the primary
   * account, another account replaces it. Without another account, the password or the passkeys do.
   * @throws {ApiError} FORBIDDEN when the account is not linked to the caller, or the caller is a managed user; UNPROCESSABLE_CONTENT
   *   when the caller could not log in without it
   */
  unlink(caller: Principal, id: string): Promise<void>;
  /** The accounts of any user, for administrators. @throws {ApiError} FORBIDDEN if there is no such user */
  listOf(user: string): Promise<Listed[]>;
  /**
   * Unlinks an account of any user, for administrators, and ends the user's sessions. Otherwise the same as {@link unlink}.
   * @throws {ApiError} FORBIDDEN, UNPROCESSABLE_CONTENT; REAUTHENTICATION_REQUIRED if the user is an administrator
   */
  unlinkOf(caller: Principal, user: string, id: string): Promise<void>;
}

export function createIdentities({ db, signInMethods, stepUp, activity }: Services): Identities {
  /** Unlinks an account unless the user could not log in without it. Lock the user's row first. */
  const unlink = async (
    tx: Executor,
    caller: Principal,
    user: string,
    id: string,
    ways: Awaited<ReturnType<typeof lockLoginMethods>>,
  ): Promise<void> => {
    const all = await listIdentities(tx, user);
    const unlinked = all.find((identity) => identity.id === id.toLowerCase());
    if (!ways || !unlinked) throw new ApiError('FORBIDDEN');
    const isOwn = caller.userId === user;
    signInMethods.requireUnmanaged(ways, isOwn);
    const left = all.filter(
      (identity) => identity !== unlinked && signInMethods.allowsProvider(ways, identity.provider),
    );
    // A provider that determines the roles of its users must not begin to determine the role of this one.
    const next = left.find((identity) => !signInMethods.isManaged(identity)) ?? null;
    const provider = unlinked.primary ? (next?.provider ?? 'default') : ways.provider;
    const mayUsePassword = ways.hasPassword && signInMethods.allowsPassword({ provider });
    const mayUsePasskey = signInMethods.allowsPasskey({ provider }) && (await countPasskeys(tx, user)) > 0;
    if (left.length === 0 && !mayUsePassword && !mayUsePasskey) {
      throw new ApiError('UNPROCESSABLE_CONTENT', {
        reason: isOwn
          ? 'You would have no way to log in. Link another account first.'
          : 'The user would have no way to log in. Set a password for the user first.',
      });
    }
    await deleteIdentity(tx, unlinked.id);
    if (unlinked.primary) await setPrimaryIdentity(tx, user, next);
    await deleteSessionsOf(tx, [user], isOwn ? sessionIdOf(caller) : null);
    const details = { provider: unlinked.provider, owner: user };
    await activity.record(tx, caller, [
      { action: 'identity_unlink', collection: 'identities', item: unlinked.id, details },
    ]);
  };

  const listFor = async (user: string): Promise<Listed[]> => {
    const linked = await listIdentities(db, user);
    return linked.map((identity) => ({ ...identity, managed: identity.primary && signInMethods.isManaged(identity) }));
  };

  return {
    list: (caller) => listFor(caller.userId),

    unlink: (caller, id) =>
      transact(db, async (tx) => {
        const ways = await lockLoginMethods(tx, caller.userId);
        await stepUp.requireStillProved(tx, caller);
        await unlink(tx, caller, caller.userId, id, ways);
      }),

    listOf: async (user) => {
      if (!(await userExists(db, user))) throw new ApiError('FORBIDDEN');
      return listFor(user);
    },

    unlinkOf: (caller, id, identity) =>
      transact(db, async (tx) => {
        const user = id.toLowerCase();
        const ways = await lockLoginMethods(tx, user);
        await stepUp.requireFreshForUser(tx, caller, user);
        await unlink(tx, caller, user, identity, ways);
      }),
  };
}
