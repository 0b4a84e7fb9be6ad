import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Schemas } from '../api/types.js';
import type { Collection } from '../model/fields.js';

type Action = 'create' | 'read' | 'update' | 'delete';
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
  can(action: Action, collection: Collection | 'sessions'): boolean;
  /** Whether the caller may perform an action on every item of a collection. */
  canAll(action: Action, collection: Collection): boolean;
  /** Whether a field may be read, or written. */
  canUse(action: Action, collection: Collection | 'sessions', field: string): boolean;
}

export function accessOf(me: Me, isAdmin: boolean, permissions: Permissions): Access {
  const entry = (collection: string, action: Action) => permissions[collection]?.[action];
  const can: Access['can'] = (action, collection) =>
    isAdmin || ['partial', 'full'].includes(entry(collection, action)?.access ?? 'none');
  return {
    me,
    isAdmin,
    can,
    canAll: (action, collection) => isAdmin || entry(collection, action)?.access === 'full',
    canUse: (action, collection, field) => {
      if (isAdmin) return true;
      const { fields = [] } = entry(collection, action) ?? {};
      return can(action, collection) && (fields.includes('*') || fields.includes(field));
    },
  };
}

const AccessContext = createContext<Access | undefined>(undefined);

export const AccessProvider = AccessContext.Provider;

export function useAccess(): Access {
  const access = useContext(AccessContext);
  if (!access) throw new Error('There is no access outside the shell.');
  return access;
}
