import type { Executor } from '../../db/client.js';
import { lockAdministrators } from '../../db/queries/access/administrators.js';
import { existingKeys } from '../../db/queries/items/writes.js';
import { readSettings, writeSettings } from '../../db/queries/settings/settings.js';
import { collections } from '../../db/query-language/collections.js';
import { type AccessView, parseFilter } from '../../db/query-language/filter.js';
import { forbiddenField } from '../../db/query-language/invalid-query.js';
import { transact } from '../../db/statements.js';
import { isHttpsHost } from '../../schemas/client-uris.js';
import { ApiError } from '../../schemas/errors.js';
import { type SettingName, type SettingsInput, settingNames } from '../../schemas/settings.js';
import { isUnconditional, isUnlimited, noVariables, permissionsFor } from '../access/permissions.js';
import { requireSafeSettings } from '../access/public-rights.js';
import type { Caller } from '../http/caller.js';
import { isPolicy } from '../passwords/rules/policy.js';
import type { Services } from '../platform/plugin.js';

export interface ProjectSettings {
  /** The requested settings, all of which the caller must be allowed to read. @throws {ApiError} FORBIDDEN */
  read(caller: Caller, fields?: readonly string[]): Promise<SettingsInput>;
  /**
   * Writes settings, and returns the requested settings. Null: the caller may not read settings.
   * @throws {ApiError} FORBIDDEN, REAUTHENTICATION_REQUIRED, FAILED_VALIDATION, INVALID_FOREIGN_KEY, UNPROCESSABLE_CONTENT
   */
  update(caller: Caller, input: SettingsInput, fields?: readonly string[]): Promise<SettingsInput | null>;
}

/** Settings that callers with a permission can change. All other settings control access, and only administrators can change them. */
export const delegableSettings = new Set<SettingName>([
  'project_name',
  'project_color',
  'project_logo',
  'default_language',
]);

/** Whether the input sets a policy for all callers, or a role for users who register. */
const grantsRights = (input: SettingsInput) =>
  typeof input.public_policy === 'string' || typeof input.public_registration_role === 'string';

export function createSettings({ dbOf, activity, stepUp }: Services): ProjectSettings {
  /** The names of the requested settings. @throws {ApiError} FORBIDDEN when the caller may not read one of them */
  const requestedSettings = (caller: Caller, fields: readonly string[] = []): ReadonlySet<string> => {
    const readable = permittedSettings(caller, 'read');
    if (readable.size === 0) throw new ApiError('FORBIDDEN');
    const asked = fields.flatMap((name) => (name === '*' ? [...readable] : [name]));
    for (const name of asked) if (!readable.has(name as SettingName)) throw forbiddenField('settings', name);
    return new Set<string>(asked.length === 0 ? readable : asked);
  };

  const readShown = async (caller: Caller, wanted: ReadonlySet<string>): Promise<SettingsInput> => {
    const settings = await readSettings(dbOf(caller));
    return Object.fromEntries(Object.entries(settings).filter(([name]) => wanted.has(name)));
  };

  return {
    read: async (caller, fields) => readShown(caller, requestedSettings(caller, fields)),

    update: async (caller, input, fields) => {
      const writable = permittedSettings(caller, 'update');
      const names = Object.keys(input) as SettingName[];
      if (writable.size === 0) throw new ApiError('FORBIDDEN');
      for (const name of names) {
        if (!writable.has(name))
          throw new ApiError('FORBIDDEN', { reason: `You are not allowed to write ${name} of settings` });
        if (!caller.admin && !delegableSettings.has(name))
          throw new ApiError('FORBIDDEN', { reason: `Only an administrator can write ${name} of settings` });
      }
      if (!names.every((name) => delegableSettings.has(name))) await stepUp.requireFreshAdministrator(caller);
      checkPasswordPolicy(input.auth_password_policy);
      checkEmailFilter(input.public_registration_email_filter);
      checkHosts(input.unregistered_client_hosts);
      // An invalid selection of fields is rejected before anything is written.
      const wanted = permittedSettings(caller, 'read').size === 0 ? null : requestedSettings(caller, fields);
      await transact(dbOf(caller), async (tx) => {
        if (grantsRights(input)) await lockAdministrators(tx);
        await requireItem(tx, 'public_policy', 'policies', input.public_policy);
        await requireItem(tx, 'public_registration_role', 'roles', input.public_registration_role);
        await writeSettings(tx, input);
        if (grantsRights(input)) await requireSafeSettings(tx);
        if (names.length > 0)
          await activity.record(tx, caller, [{ action: 'update', collection: 'settings', changed: names }]);
      });
      return wanted === null ? null : readShown(caller, wanted);
    },
  };
}

/** The settings that a caller's permissions name. */
export function permittedSettings(caller: Caller, action: 'read' | 'update'): ReadonlySet<SettingName> {
  if (isUnlimited(caller, 'settings', action)) return new Set(settingNames);
  const named = permissionsFor(caller, 'settings', action)
    .filter(isUnconditional)
    .flatMap(({ fields }) => fields ?? []);
  return new Set(named.includes('*') ? settingNames : settingNames.filter((name) => named.includes(name)));
}

function checkPasswordPolicy(policy: string | null | undefined): void {
  if (policy === undefined || policy === null || isPolicy(policy)) return;
  throw new ApiError('FAILED_VALIDATION', { field: 'auth_password_policy', path: [], type: 'regex' });
}

const addressesOnly: AccessView = (name) => (name === 'users' ? [{ fields: new Set(['email']), rule: null }] : []);

/** The filter is evaluated for an address that does not belong to a user yet, so it can use only the field `email`. */
function checkEmailFilter(filter: Record<string, unknown> | null | undefined): void {
  if (filter === undefined || filter === null) return;
  try {
    parseFilter(filter, collections.users, addressesOnly, noVariables);
  } catch {
    throw new ApiError('FAILED_VALIDATION', { field: 'public_registration_email_filter', path: [], type: 'filter' });
  }
}

/** The hosts are compared with those of normalized URLs, so a host in another form would have no effect. */
function checkHosts(hosts: readonly string[] = []): void {
  const field = 'unregistered_client_hosts';
  const invalid = hosts.find((host) => !isHttpsHost(host));
  if (invalid !== undefined) throw new ApiError('FAILED_VALIDATION', { field, path: [], type: 'host', invalid });
}

async function requireItem(
  tx: Executor,
  field: SettingName,
  name: 'policies' | 'roles',
  key: string | null | undefined,
) {
  if (typeof key !== 'string') return;
  const existing = await existingKeys(tx, collections[name], [key.toLowerCase()]);
  if (existing.size === 0) throw new ApiError('INVALID_FOREIGN_KEY', { collection: 'settings', field, value: key });
}
