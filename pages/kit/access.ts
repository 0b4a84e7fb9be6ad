import { text } from './texts.js';

/** What an application may do, or asks for. */
export interface Access {
  scopes: readonly string[];
  /** The APIs that it may call on behalf of the user. */
  resources: readonly { name: string; scopes: readonly string[] }[];
}

const knownScopes: Readonly<Record<string, string>> = {
  openid: 'status_access_openid',
  profile: 'status_access_profile',
  email: 'status_access_email',
  roles: 'status_access_roles',
  groups: 'status_access_roles',
  offline_access: 'status_access_offline_access',
  '*': 'status_access_all',
};

/** What the part after the colon of a scope such as `users:read` allows. */
const actions: Readonly<Record<string, string>> = {
  create: 'status_access_create',
  read: 'status_access_read',
  update: 'status_access_update',
  delete: 'status_access_delete',
  '*': 'status_access_manage',
};

const collections: Readonly<Record<string, string>> = {
  users: 'status_items_users',
  roles: 'status_items_roles',
  policies: 'status_items_policies',
  permissions: 'status_items_permissions',
  settings: 'status_items_settings',
  activity: 'status_items_activity',
  mails: 'status_items_mails',
  sessions: 'status_items_sessions',
  clients: 'status_items_clients',
  resources: 'status_items_resources',
};

function lineOf(scope: string): string {
  const known = knownScopes[scope];
  if (known !== undefined) return text(known);
  const [collection = '', action = ''] = scope.split(':');
  const [items, verb] = [collections[collection], actions[action]];
  return items === undefined || verb === undefined
    ? text('status_access_scope', { scope })
    : text(verb, { items: text(items) });
}

/** What an access means to the user, as the items of a list. */
export function accessItems({ scopes, resources }: Access): HTMLElement[] {
  const ofScopes = scopes.map(lineOf);
  const ofResources = resources.map(({ name, scopes: list }) =>
    list.length === 0
      ? text('status_access_resource', { resource: name })
      : text('status_access_resource_scopes', { resource: name, scopes: list.join(', ') }),
  );
  return [...new Set(ofScopes), ...ofResources].map((line) => {
    const item = document.createElement('li');
    item.textContent = line;
    return item;
  });
}
