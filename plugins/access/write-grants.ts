import type { PermissionRecord } from '../../db/queries/access/principals.js';
import { type RuledCollectionName, ruledCollections } from '../../db/query-language/collections.js';
import { type Filter, ruleOf } from '../../db/query-language/filter.js';
import type { Variables } from '../../db/query-language/variables.js';
import type { Caller } from '../http/caller.js';
import { isUnlimited, permissionsFor } from './permissions.js';

/** A right to write these fields of the items that match the rule, if the written item passes the validation. */
export interface WriteGrant {
  fields: ReadonlySet<string> | '*';
  /** Null: all items. */
  rule: Filter | null;
  /** Null: all values are valid. */
  validation: Filter | null;
  presets: Record<string, unknown>;
  /** The ID of the permission that grants it. Absent: it does not come from a permission. */
  permission?: number;
}

const everything: WriteGrant = { fields: '*', rule: null, validation: null, presets: {} };

/** What a caller may create, update or delete in a collection; empty: nothing. */
export function writeGrantsOf(
  caller: Caller,
  name: RuledCollectionName,
  action: Exclude<PermissionRecord['action'], 'read'>,
  variables: Variables,
): readonly WriteGrant[] {
  if (isUnlimited(caller, name, action)) return [everything];
  if (ruledCollections[name].isForAdministrators) return [];
  return permissionsFor(caller, name, action).map(({ id, permissions, validation, presets, fields }) => ({
    permission: id,
    fields: action === 'delete' || fields?.includes('*') ? ('*' as const) : new Set(fields ?? []),
    rule: ruleOf(permissions, name, variables),
    validation: ruleOf(validation, name, variables),
    presets: presets ?? {},
  }));
}
