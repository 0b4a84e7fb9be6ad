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
};

/** What an access means to the user, as the items of a list. */
export function accessItems({ scopes, resources }: Access): HTMLElement[] {
  const ofScopes = scopes.map((scope) => text(knownScopes[scope] ?? 'status_access_scope', { scope }));
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
