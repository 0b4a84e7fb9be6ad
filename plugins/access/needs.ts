import { hasField, ruledCollections } from '../../db/query-language/collections.js';
import type { Need, NeededRight } from '../../schemas/needs.js';
import { settingNames } from '../../schemas/settings.js';
import type { Caller } from '../http/caller.js';
import { isUnconditional, ownRuleOf, permissionsFor } from './permissions.js';

/**
 * Whether a caller may call a route at all. Rules are not evaluated here: the access to individual items and fields is checked
 * later, when they are known.
 */
export function meetsNeed(caller: Caller, need: Need): boolean {
  if (caller.admin || need === 'nothing') return true;
  if (need === 'administrator') return false;
  const { collection, action, fields, unconditional } = need;
  // Anonymous callers have no rights that could be compared with those of a user.
  if (ruledCollection(collection)?.owner !== undefined && caller.userId === null) return false;
  if (action === 'read' && ownRuleOf(caller, collection)) return true;
  const mustBeUnconditional = unconditional || collection === 'settings';
  return permissionsFor(caller, collection, action).some(
    (permission) =>
      (!mustBeUnconditional || isUnconditional(permission)) &&
      (action === 'delete' || includesFields(permission.fields ?? [], collection, action, fields)),
  );
}

const ruledCollection = (name: NeededRight['collection']) => (name === 'settings' ? undefined : ruledCollections[name]);

function includesFields(
  granted: readonly string[],
  collection: NeededRight['collection'],
  action: NeededRight['action'],
  needed: readonly string[] | undefined,
): boolean {
  if (granted.includes('*')) return true;
  if (needed) return needed.every((name) => granted.includes(name));
  if (collection === 'settings') return settingNames.some((name) => granted.includes(name));
  // A permission to read that includes no field of the collection would still reveal that there are items.
  return action !== 'read' || granted.some((name) => hasField(ruledCollections[collection], name));
}
