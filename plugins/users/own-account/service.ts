import { hasActiveAdministrator, lockAdministrators } from '../../../db/queries/access/administrators.js';
import { deleteRecords, lockRecords } from '../../../db/queries/items/writes.js';
import { readSettings } from '../../../db/queries/settings/settings.js';
import { type ProfileColumns, readExport, readProfile, writeProfile } from '../../../db/queries/users/own-account.js';
import { collections } from '../../../db/query-language/collections.js';
import { transact } from '../../../db/statements.js';
import { ApiError } from '../../../schemas/errors.js';
import type { AccountExport, Profile, ProfileChanges } from '../../../schemas/own-account.js';
import type { Principal } from '../../http/caller.js';
import { invalidPayload, readValue } from '../../items/payload.js';
import type { Services } from '../../platform/plugin.js';
import { isHttpsUrl } from '../../platform/urls.js';

/** Operations of users on their own account, whatever their permissions. */
export interface OwnAccount {
  /** @throws {ApiError} FORBIDDEN when an administrator has switched self-service off */
  requireSelfService(caller: Principal): Promise<void>;
  readProfile(caller: Principal): Promise<Profile>;
  /** @throws {ApiError} INVALID_PAYLOAD, VALUE_TOO_LONG */
  updateProfile(caller: Principal, changes: ProfileChanges): Promise<Profile>;
  /** Everything that the service stores about the caller, except secrets. @throws {ApiError} SERVICE_UNAVAILABLE */
  export(caller: Principal): Promise<AccountExport>;
  /**
   * Deletes the caller's account. The audit log keeps a record of what they did.
   * @throws {ApiError} FORBIDDEN unless the settings allow it; UNPROCESSABLE_CONTENT when the caller is the last administrator
   */
  remove(caller: Principal): Promise<void>;
}

const forbidden = (reason: string) => new ApiError('FORBIDDEN', { reason });

export function createOwnAccount({ config, db, dbOf, clock, activity, exportQueue }: Services): OwnAccount {
  const { AUTH_PASSKEYS: acceptsPasskeys } = config;

  const profileOf = async (caller: Principal): Promise<Profile> => {
    const profile = await readProfile(dbOf(caller), caller.userId, clock());
    if (!profile) throw new ApiError('INVALID_CREDENTIALS');
    return profile;
  };

  return {
    requireSelfService: async ({ admin }) => {
      if (admin) return;
      const { self_service: isOn } = await readSettings(db);
      if (!isOn) throw forbidden('An administrator has turned this off');
    },

    readProfile: profileOf,

    updateProfile: async (caller, changes) => {
      const columns = readChanges(changes);
      const changed = Object.keys(changes);
      if (changed.length > 0) {
        await dbOf(caller).transaction(async (tx) => {
          await writeProfile(tx, caller.userId, columns);
          await activity.record(tx, caller, [{ action: 'update', collection: 'users', item: caller.userId, changed }]);
        });
      }
      return profileOf(caller);
    },

    export: (caller) =>
      exportQueue.push(caller, () =>
        // One transaction, so that all data is from the same moment.
        db.transaction(async (tx) => {
          const found = await readExport(tx, caller.userId, clock());
          if (!found) throw new ApiError('INVALID_CREDENTIALS');
          await activity.record(tx, caller, [{ action: 'export', collection: 'users', item: caller.userId }]);
          return found;
        }),
      ),

    remove: (caller) =>
      transact(db, async (tx) => {
        const { self_deletion: isAllowed } = await readSettings(tx);
        if (!isAllowed) throw forbidden('Ask an administrator to delete your account');
        const { userId } = caller;
        await lockAdministrators(tx);
        await lockRecords(tx, collections.users, [userId]);
        await deleteRecords(tx, collections.users, [userId]);
        if (!(await hasActiveAdministrator(tx, acceptsPasskeys))) {
          throw new ApiError('UNPROCESSABLE_CONTENT', { reason: 'At least one active administrator must remain' });
        }
        await activity.record(tx, caller, [{ action: 'delete', collection: 'users', item: userId }]);
      }),
  };
}

const columnOf = { first_name: 'firstName', last_name: 'lastName', language: 'language', avatar: 'avatar' } as const;

function readChanges(changes: ProfileChanges): ProfileColumns {
  const columns: ProfileColumns = {};
  for (const name of Object.keys(columnOf) as (keyof typeof columnOf)[]) {
    const given = changes[name];
    const field = collections.users.fields.get(name);
    if (given === undefined || field?.kind !== 'value') continue;
    columns[columnOf[name]] = readValue(collections.users, name, field, given) as string | null;
  }
  if (typeof columns.avatar === 'string' && !isHttpsUrl(columns.avatar)) {
    throw invalidPayload('avatar must be an https URL');
  }
  return columns;
}
