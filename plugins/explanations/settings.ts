import type { ExplainBody } from '../../schemas/explanations.js';
import { type SettingName, settingNames } from '../../schemas/settings.js';
import { isUnconditional, permissionsFor } from '../access/permissions.js';
import type { Caller } from '../http/caller.js';
import { delegableSettings, permittedSettings } from '../settings/service.js';
import { nothingAllowed, obstacle, type Verdict } from './verdict.js';

/** The settings are a single row, to which rules do not apply. */
export function explainSettings(caller: Caller, { action, field }: Pick<ExplainBody, 'action' | 'field'>): Verdict {
  const none = nothingAllowed(settingNames.length);
  if (action !== 'read' && action !== 'update') return { ...none, allFields: 0, missing: [obstacle('no_operation')] };
  const permitted = permittedSettings(caller, action);
  if (permitted.size === 0) return { ...none, missing: [obstacle('no_permission')] };
  const isReserved = (name: SettingName) => action === 'update' && !caller.admin && !delegableSettings.has(name);
  const fields = settingNames.filter((name) => permitted.has(name) && !isReserved(name));
  const isNaming = (names: readonly string[]) =>
    names.includes('*') || (field === undefined ? settingNames : [field]).some((name) => names.includes(name));
  const allows = (names: readonly string[]) => fields.filter((name) => names.includes('*') || names.includes(name));
  const permissions = new Map<number | null, readonly string[]>(
    caller.admin
      ? [[null, fields]]
      : permissionsFor(caller, 'settings', action)
          .filter((permission) => isUnconditional(permission) && isNaming(permission.fields ?? []))
          .sort((one, other) => one.id - other.id)
          .map(({ id, fields: names }) => [id, allows(names ?? [])]),
  );
  const name = settingNames.find((known) => known === field);
  const missing = () => {
    if (field === undefined) return [];
    if (!name) return [obstacle('no_such_field', { field })];
    if (!permitted.has(name)) return [obstacle('field_not_permitted', { field })];
    return isReserved(name) ? [obstacle('reserved', { field })] : [];
  };
  return { ...none, missing: missing(), fields, permissions };
}
