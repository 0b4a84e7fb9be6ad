import type { PermissionRecord } from '../../db/queries/access/principals.js';
import type { Item } from '../../db/queries/items/items.js';
import { writeLastPage } from '../../db/queries/users/users.js';
import type { QueryInput } from '../../db/query-language/query.js';
import { ApiError, valueTooLong } from '../../schemas/errors.js';
import { permittedCollections } from '../../schemas/needs.js';
import type { ActionAccess, MyPermissions } from '../../schemas/permissions.js';
import type { Globals } from '../../schemas/policies.js';
import { isEmptyRule, isUnlimited, ownRuleOf, permissionsFor } from '../access/permissions.js';
import type { Caller, Principal } from '../http/caller.js';
import type { Meta } from '../items/service.js';
import type { Services } from '../platform/plugin.js';

export interface Users {
  /**
   * The caller's own user. If the caller may not read it, or may not read one of the requested fields, the result contains only
   * the id.
   * @throws {ApiError} INVALID_QUERY
   */
  readMe(caller: Principal, input: QueryInput): Promise<{ data: Item; meta?: Meta }>;
  /**
   * Stores the page that the caller is on.
   * @throws {ApiError} VALUE_TOO_LONG
   */
  trackPage(caller: Principal, page: string): Promise<void>;
  /** The caller's role and all its ancestors. If the caller may not read roles, the result contains only their ids. */
  readMyRoles(caller: Principal, input: QueryInput): Promise<{ data: Item[]; meta?: Meta }>;
  /** The access flags that result from all of the caller's policies. */
  globalsOf(caller: Caller): Globals;
  /** What the caller may do with each collection. */
  permissionsOf(caller: Caller): MyPermissions;
}

const maxPageLength = 255;

export function createUsers({ db, items }: Services): Users {
  return {
    readMyRoles: async (caller, input) => {
      try {
        return await items.readMany(caller, 'roles', caller.roles, input);
      } catch (error) {
        if (error instanceof ApiError && error.code === 'FORBIDDEN')
          return { data: caller.roles.map((id) => ({ id })) };
        throw error;
      }
    },

    globalsOf: ({ admin, app, policies }) => ({
      app_access: app,
      admin_access: admin,
      enforce_tfa: policies.some((policy) => policy.enforce_tfa),
    }),

    permissionsOf: (caller) =>
      Object.fromEntries(permittedCollections.map((collection) => [collection, accessTo(caller, collection)])),

    trackPage: async (caller, page) => {
      if ([...page].length > maxPageLength) {
        throw valueTooLong('users', 'last_page', page, `${maxPageLength} characters`);
      }
      await writeLastPage(db, caller.userId, page);
    },

    readMe: async (caller, input) => {
      // It was read together with the caller's rights (`readsOwnRow`).
      if (caller.ownRow) return { data: caller.ownRow };
      try {
        return await items.read(caller, 'users', caller.userId, input);
      } catch (error) {
        if (error instanceof ApiError && error.code === 'FORBIDDEN') return { data: { id: caller.userId } };
        throw error;
      }
    },
  };
}

function accessTo(caller: Caller, collection: (typeof permittedCollections)[number]): MyPermissions[string] {
  const accessFor = (action: PermissionRecord['action']): ActionAccess => {
    if (isUnlimited(caller, collection, action)) return { access: 'full', fields: ['*'] };
    const permissions = permissionsFor(caller, collection, action);
    const isOwn = action === 'read' && ownRuleOf(caller, collection) !== undefined;
    if (permissions.length === 0 && !isOwn) return { access: 'none' };
    const isFull = permissions.some((permission) => isEmptyRule(permission.permissions));
    const fields = new Set(permissions.flatMap((permission) => permission.fields ?? []));
    if (isOwn) fields.add('*');
    return {
      access: isFull ? 'full' : 'partial',
      fields: fields.has('*') ? ['*'] : [...fields],
      presets: Object.assign({}, ...permissions.map((permission) => permission.presets)),
    };
  };
  return {
    create: accessFor('create'),
    read: accessFor('read'),
    update: accessFor('update'),
    delete: accessFor('delete'),
  };
}
