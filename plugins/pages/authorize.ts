import type { Page, SharedByPages } from './service.js';

/** Characters. Longer than any code that a device shows, with its separators. */
const maxUserCodeLength = 20;

/** What an application asks for. */
interface Access {
  scopes: readonly string[];
  resources: readonly { name: string; scopes: readonly string[] }[];
}

interface Client {
  name: string;
  /** The host of the client's own metadata, if nobody registered it. */
  host: string | null;
}

/** The pages on which users decide about applications. */
export const authorizePages = {
  consent: (request: {
    id: string;
    client: Client;
    access: Access;
    user: string;
    redirectHost: string;
    locales: readonly string[];
  }): Page => ({
    application: 'authorize',
    name: 'consent',
    locales: request.locales,
    add: (shared) => ({
      view: {
        client: request.client,
        access: accessLines(request.access, shared),
        user: request.user,
        redirect_host: request.redirectHost,
      },
      data: { request: request.id },
    }),
  }),

  device: {
    application: 'authorize',
    name: 'device',
    returnTo: '/device',
    // A device can also show the code as a part of the URL.
    add: ({ query: { user_code: code } }) => ({
      data: { userCode: typeof code === 'string' ? code.slice(0, maxUserCodeLength) : undefined },
    }),
  } satisfies Page as Page,

  signOut: (client: Client | null, to: string | null): Page => ({
    application: 'authorize',
    name: 'sign-out',
    add: () => ({ view: { client }, data: to === null ? {} : { afterSignOut: to } }),
  }),
};

/** What each scope means to the user, in their language. */
export function accessLines({ scopes, resources }: Access, { t }: Pick<SharedByPages, 't'>): string[] {
  const known: Readonly<Record<string, string | undefined>> = {
    openid: t.access_openid,
    profile: t.access_profile,
    email: t.access_email,
    roles: t.access_roles,
    groups: t.access_roles,
    offline_access: t.access_offline_access,
  };
  const fill = (text: string | undefined, values: Record<string, string>) =>
    (text ?? '').replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
  const lineOf = (scope: string) => known[scope] ?? fill(t.access_scope, { scope });
  const resourceLine = ({ name: resource, scopes: list }: Access['resources'][number]) =>
    list.length === 0
      ? fill(t.access_resource, { resource })
      : fill(t.access_resource_scopes, { resource, scopes: list.join(', ') });
  return [...new Set(scopes.map(lineOf)), ...resources.map(resourceLine)];
}
