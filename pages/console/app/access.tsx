import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Schemas } from '../api/types.js';
import { type Collection, isOnlyForAdministrators } from '../model/fields.js';

type Action = 'create' | 'read' | 'update' | 'delete';
/** What permissions can be about. */
type Permitted = Collection | 'sessions';
type Permissions = Schemas['MyPermissions'];

export interface Me {
  id: string;
  first_name?: string | null;
  last_name?: string | null;
  email?: string | null;
  avatar?: string | null;
}

/** Who uses the console, and what they may do. The API decides; the console only leaves out what it would refuse. */
export interface Access {
  me: Me;
  isAdmin: boolean;
  /** Whether the caller may perform an action on at least some items of a collection. */
  can(action: Action, collection: Permitted): boolean;
  /** Whether the caller may perform an action on every item of a collection. */
  canAll(action: Action, collection: Permitted): boolean;
  /**
   * Whether a list of related items is complete.
   * @param items what the API has returned; undefined if the caller may not read the field
   */
  seesAll(collection: Permitted, items: readonly unknown[] | null | undefined): boolean;
  /** Whether a field may be read, or written. */
  canUse(action: Action, collection: Permitted, field: string): boolean;
  /** Whether the caller may invite users, to whom the API then gives a role. */
  mayInvite: boolean;
}

/** Fields of users that are derived from the audit log. The API returns them to callers who may read all of it. */
const derivedFromActivity = ['locked_until', 'has_password', 'last_failure'];
/** What an invitation writes. */
const invitationFields = ['email', 'role', 'status'];

export function accessOf(me: Me, isAdmin: boolean, permissions: Permissions): Access {
  const entry = (collection: string, action: Action) => permissions[collection]?.[action];
  const can: Access['can'] = (action, collection) =>
    isAdmin || ['partial', 'full'].includes(entry(collection, action)?.access ?? 'none');
  const canAll: Access['canAll'] = (action, collection) => isAdmin || entry(collection, action)?.access === 'full';
  const isAllowed = (action: Action, collection: string, field: string) => {
    const { access = 'none', fields = [] } = entry(collection, action) ?? {};
    return access !== 'none' && (fields.includes('*') || fields.includes(field));
  };
  return {
    me,
    isAdmin,
    can,
    canAll,
    seesAll: (collection, items) => Boolean(items) && canAll('read', collection),
    canUse: (action, collection, field) => {
      if (isAdmin) return true;
      if (action === 'read' && collection === 'users' && derivedFromActivity.includes(field))
        return canAll('read', 'activity') && isAllowed('read', 'activity', '*');
      return isAllowed(action, collection, field) && !isOnlyForAdministrators(action, collection, field);
    },
    mayInvite: isAdmin || invitationFields.every((name) => isAllowed('create', 'users', name)),
  };
}

const AccessContext = createContext<Access | undefined>(undefined);

export const AccessProvider = AccessContext.Provider;

export function useAccess(): Access {
  const access = useContext(AccessContext);
  if (!access) throw new Error('There is no access outside the shell.');
  return access;
}
