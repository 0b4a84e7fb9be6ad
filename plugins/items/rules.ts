import type { Executor } from '../../db/client.js';
import { hasRoleCycle } from '../../db/queries/access/administrators.js';
import { rulesOf } from '../../db/queries/access/permissions.js';
import type { Columns } from '../../db/queries/items/writes.js';
import {
  collections,
  type RuledCollectionName,
  ruledCollections,
  type ValueField,
} from '../../db/query-language/collections.js';
import { parseFilter, seesAll } from '../../db/query-language/filter.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import { isIpRange } from '../../schemas/ip-ranges.js';
import { permittedCollections } from '../../schemas/needs.js';
import { isEmptyRule, noVariables } from '../access/permissions.js';
import type { Caller } from '../http/caller.js';
import { invalidPayload, readValue } from './payload.js';
import type { Change, WriteRules } from './write-engine.js';

/** A field that accepts only a fixed set of values. */
export const oneOf = (
  field: string,
  column: string,
  vocabulary: readonly string[],
  canonical = (value: string) => value,
) =>
  [
    field,
    (value: unknown, { columns }: Change['payload']) => {
      if (typeof value !== 'string') throw invalidPayload(`${field} must be a string`);
      const found = canonical(value);
      if (!vocabulary.includes(found)) {
        throw new ApiError('FAILED_VALIDATION', { field, path: [], type: 'in', valid: vocabulary });
      }
      columns[column] = found;
    },
  ] as const;

/** For writes that affect the rights of other users: only administrators may make them, whatever the permissions grant. */
const onlyAdministrators = async (_tx: Executor, caller: Caller): Promise<void> => {
  if (!caller.admin) throw new ApiError('FORBIDDEN', { reason: 'Only an administrator can change this' });
};

/** The rules specific to writing roles. */
export const roleWriteRules: WriteRules = {
  special: {},
  adminOnly: new Set(['parent', 'policies']),
  defaults: {},
  required: () => ['name'],
  costly: new Set(),
  affectsAdministrators: new Set(['parent', 'policies']),
  affectsRights: new Set(['parent', 'policies']),
  check: async (tx, caller, _changes, action) => {
    // Users whose role is deleted lose its policies, including a requirement for two-factor authentication.
    if (action === 'delete') await onlyAdministrators(tx, caller);
  },
  after: async (tx, _caller, changes) => {
    // Checked after the write, because two roles in one request can each become the other's parent.
    const moved = changes.filter(({ payload }) => typeof payload.columns.parent === 'string');
    const keys = moved.flatMap((change) => change.keys);
    if (await hasRoleCycle(tx, keys)) throw invalidPayload('A role cannot be its own ancestor');
  },
};

const ipAccess = collections.policies.fields.get('ip_access') as ValueField;

/** The rules specific to writing policies. */
export const policyWriteRules: WriteRules = {
  special: {
    ip_access: (value, { columns }) => {
      const ranges = readValue(collections.policies, 'ip_access', ipAccess, value) as string[] | null;
      if (ranges !== null && !ranges.every(isIpRange)) {
        throw new ApiError('FAILED_VALIDATION', { field: 'ip_access', path: [], type: 'cidr' });
      }
      columns.ip_access = ranges;
    },
  },
  adminOnly: new Set(['ip_access', 'enforce_tfa', 'admin_access', 'app_access']),
  defaults: { enforce_tfa: false, admin_access: false, app_access: false },
  required: () => ['name'],
  costly: new Set(),
  affectsAdministrators: new Set(['admin_access', 'ip_access']),
  affectsRights: new Set(['admin_access', 'app_access']),
  check: async (tx, caller, _changes, action) => {
    if (action === 'delete') await onlyAdministrators(tx, caller);
  },
};

/** What permissions can allow with collections that are not written like others. */
const allowedActions: Readonly<Record<string, readonly string[]>> = {
  activity: ['read'],
  mails: ['read', 'update'],
  sessions: ['read', 'delete'],
};

/** Parses a rule before it is stored, so that the caller who writes an invalid rule gets the error. */
function checkRule(field: string, value: unknown, collection: string): void {
  if (!isObject(value) || isEmptyRule(value)) return;
  if (!Object.hasOwn(ruledCollections, collection))
    throw invalidPayload(`${field}: rules are not supported for ${collection}`);
  try {
    parseFilter(value, ruledCollections[collection as RuledCollectionName], seesAll, noVariables);
  } catch (error) {
    const reason = error instanceof ApiError ? (error.extensions as { reason?: string }).reason : undefined;
    throw invalidPayload(`${field}: ${reason ?? 'not a valid filter'}`);
  }
}

/** Presets must not contain secrets: they are stored in plain text, and callers who may read the permission can read them. */
function checkPresets(presets: unknown): void {
  const secret = ['password', 'token', 'tfa_secret'].find(
    (field) => isObject(presets) && Object.hasOwn(presets, field),
  );
  if (secret !== undefined) throw invalidPayload(`presets: ${secret} is a secret and cannot be preset`);
}

function checkRules({ collection, action, permissions, validation, presets }: Columns): void {
  const allowed = allowedActions[String(collection)];
  if (allowed?.includes(String(action)) === false)
    throw invalidPayload(`Permissions on ${collection} can only have the action ${allowed.join(' or ')}`);
  checkPresets(presets);
  checkRule('permissions', permissions, String(collection));
  checkRule('validation', validation, String(collection));
}

/** The rules specific to writing permissions. */
export const permissionWriteRules: WriteRules = {
  special: Object.fromEntries([
    // Clients that were written for other services with this API add a prefix to the collection names.
    oneOf('collection', 'collection', permittedCollections, (value) => value.replace(/^directus_/, '')),
    oneOf('action', 'action', ['create', 'read', 'update', 'delete']),
  ]),
  // All fields, so that other callers are rejected before the foreign keys are even looked up.
  adminOnly: new Set(collections.permissions.fields.keys()),
  defaults: {},
  required: () => ['policy', 'collection', 'action'],
  costly: new Set(),
  affectsAdministrators: new Set(),
  affectsRights: new Set(),
  check: (tx, caller) => onlyAdministrators(tx, caller),
  after: async (tx, _caller, changes) => {
    // An update can contain a rule without its collection, or a collection without its rules, so the stored rows are checked.
    const keys = changes.flatMap((change) => change.keys);
    for (const rules of await rulesOf(tx, keys)) checkRules(rules);
  },
};
