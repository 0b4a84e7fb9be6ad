import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import { findRecipient } from '../../db/queries/mail/recipients.js';
import { listIdentities, lockLoginMethods } from '../../db/queries/providers/identities.js';
import { spendState } from '../../db/queries/providers/spent-states.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { readSettings } from '../../db/queries/settings/settings.js';
import { userExists } from '../../db/queries/users/users.js';
import {
  countPasskeys,
  deletePasskey,
  insertPasskey,
  listCredentials,
  listPasskeys,
  renamePasskey,
} from '../../db/queries/webauthn/passkeys.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import {
  maxPasskeyNameLength,
  type Passkey,
  type PasskeyCreationOptions,
  type RegistrationCredential,
} from '../../schemas/passkeys.js';
import { deviceOf, type Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import type { Services } from '../platform/plugin.js';

/** Lets users manage their passkeys, and administrators those of other users. */
export interface Passkeys {
  /** What a browser needs to create a passkey for the caller. @throws {ApiError} INVALID_PAYLOAD if the caller has too many */
  start(caller: Principal): Promise<PasskeyCreationOptions>;
  /**
   * Stores a passkey that a browser has created with the options from {@link start}. If it verified the user, the session then
   * satisfies `enforce_tfa`.
   * @param name if undefined, the name of the browser and its system is used
   * @throws {ApiError} INVALID_PAYLOAD, identical for every fault in the credential
   */
  add(caller: Principal, credential: RegistrationCredential, name: string | undefined): Promise<Passkey>;
  /** The caller's passkeys, oldest first. */
  list(caller: Principal): Promise<Passkey[]>;
  /** @throws {ApiError} FORBIDDEN if the caller has no such passkey */
  rename(caller: Principal, id: string, name: string): Promise<Passkey>;
  /**
   * Removes one of the caller's passkeys, and ends the caller's other sessions.
   * @throws {ApiError} FORBIDDEN if the caller has no such passkey; UNPROCESSABLE_CONTENT if it is their only way to log in
   */
  remove(caller: Principal, id: string): Promise<void>;
  /** The passkeys of any user, for administrators. @throws {ApiError} FORBIDDEN if there is no such user */
  listOf(user: string): Promise<Passkey[]>;
  /**
   * Removes a passkey of any user, for administrators, and ends the user's sessions.
   * @throws {ApiError} FORBIDDEN, UNPROCESSABLE_CONTENT; REAUTHENTICATION_REQUIRED if the user is an administrator
   */
  removeOf(caller: Principal, user: string, id: string): Promise<void>;
}

/** No one has more devices. Browsers receive the whole list when a passkey is added. */
export const maxPasskeys = 25;

const refuse = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });
const tooMany = () => refuse(`You have ${maxPasskeys} passkeys, which is the maximum. Remove one first.`);
const notUserVerified = () =>
  refuse(
    'The passkey must verify you, for example with a fingerprint or a PIN. Set one up on the device, and try again.',
  );
const notVerified = () => refuse('The passkey could not be verified. Request new options, and try again.');

export function createPasskeys({ db, dbOf, clock, webauthn, stepUp, signInMethods, activity }: Services): Passkeys {
  const projectName = async () => (await readSettings(db)).project_name;

  /** Removes a passkey unless it is the user's only way to log in. Lock the user's row first. */
  const remove = async (
    tx: Executor,
    caller: Principal,
    user: string,
    id: string,
    ways: Awaited<ReturnType<typeof lockLoginMethods>>,
  ): Promise<void> => {
    if (!ways || !(await deletePasskey(tx, user, id))) throw new ApiError('FORBIDDEN');
    const mayUsePassword = ways.hasPassword && signInMethods.allowsPassword(ways);
    const linked = await listIdentities(tx, user);
    const mayUseProvider = linked.some(({ provider }) => signInMethods.allowsProvider(ways, provider));
    const mayUsePasskey = signInMethods.allowsPasskey(ways) && (await countPasskeys(tx, user)) > 0;
    if (!mayUsePassword && !mayUseProvider && !mayUsePasskey) {
      const remedy = caller.userId === user ? 'Add another one first.' : 'Set a password for the user first.';
      throw new ApiError('UNPROCESSABLE_CONTENT', {
        reason: `This passkey is the only way to log in to the account. ${remedy}`,
      });
    }
    await deleteSessionsOf(tx, [user], caller.userId === user ? sessionIdOf(caller) : null);
    const item = id.toLowerCase();
    await activity.record(tx, caller, [
      { action: 'passkey_remove', collection: 'passkeys', item, details: { owner: user } },
    ]);
  };

  return {
    start: async ({ userId }) => {
      const user = await findRecipient(db, userId);
      if (!user) throw new ApiError('INVALID_CREDENTIALS');
      const known = await listCredentials(db, userId);
      if (known.length >= maxPasskeys) throw tooMany();
      const name = user.email ?? userId;
      const displayName = [user.firstName, user.lastName].filter(Boolean).join(' ') || name;
      return webauthn.creationOptions({ id: userId, name, displayName }, await projectName(), known);
    },

    add: async (caller, credential, name) => {
      const { userId: user, client } = caller;
      const verified = await webauthn.verifyRegistration(credential, user);
      if (!verified) throw notVerified();
      const { challenge, isUserVerified, ...key } = verified;
      // It could not satisfy `enforce_tfa`, but as the user's only second factor, it could not be replaced either.
      if (caller.requiresTfa && !caller.satisfiesTfa && !isUserVerified) throw notUserVerified();
      const passkey = {
        id: randomUUID(),
        user,
        ...key,
        createdAt: clock(),
        lastUsedAt: null,
        name: name?.trim() ?? (deviceOf(client.userAgent) ?? 'Passkey').slice(0, maxPasskeyNameLength),
      };
      return transact(dbOf(caller), async (tx) => {
        // The lock also keeps concurrent requests from exceeding the maximum.
        if (!(await lockLoginMethods(tx, user))) throw new ApiError('INVALID_CREDENTIALS');
        await stepUp.requireStillProved(tx, caller);
        if ((await countPasskeys(tx, user)) >= maxPasskeys) throw tooMany();
        if (!(await spendState(tx, challenge.id, challenge.expiresAt))) throw notVerified();
        const added = await insertPasskey(tx, passkey);
        if (!added) throw notVerified();
        if (isUserVerified) await stepUp.markFresh(caller, tx, { passkey: verified });
        await activity.record(tx, caller, [
          { action: 'passkey_add', collection: 'passkeys', item: added.id, details: { owner: user } },
        ]);
        return added;
      });
    },

    list: ({ userId }) => listPasskeys(db, userId),

    rename: (caller, id, name) =>
      dbOf(caller).transaction(async (tx) => {
        const renamed = await renamePasskey(tx, caller.userId, id, name.trim());
        if (!renamed) throw new ApiError('FORBIDDEN');
        await activity.record(tx, caller, [
          { action: 'update', collection: 'passkeys', item: renamed.id, changed: ['name'] },
        ]);
        return renamed;
      }),

    remove: (caller, id) =>
      transact(db, async (tx) => {
        const ways = await lockLoginMethods(tx, caller.userId);
        await stepUp.requireStillProved(tx, caller);
        await remove(tx, caller, caller.userId, id, ways);
      }),

    listOf: async (user) => {
      if (!(await userExists(db, user))) throw new ApiError('FORBIDDEN');
      return listPasskeys(db, user);
    },

    removeOf: (caller, id, passkey) =>
      transact(db, async (tx) => {
        const user = id.toLowerCase();
        const ways = await lockLoginMethods(tx, user);
        await stepUp.requireFreshForUser(tx, caller, user);
        await remove(tx, caller, user, passkey, ways);
      }),
  };
}
