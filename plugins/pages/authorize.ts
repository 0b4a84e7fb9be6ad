import type { Page } from './service.js';

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
    add: () => ({
      view: {
        client: request.client,
        user: request.user,
        redirect_host: request.redirectHost,
      },
      data: { request: request.id, access: request.access },
    }),
  }),

  device: {
    application: 'authorize',
    name: 'device',
    returnTo: '/account/device',
    // A device can also show the code as a part of the URL.
    add: ({ query: { user_code: code } }) => ({
      data: { userCode: typeof code === 'string' ? code.slice(0, maxUserCodeLength) : undefined },
    }),
  } satisfies Page as Page,

  /** @param client what to call the application that asks */
  signOut: (client: string | null, to: string | null): Page => ({
    application: 'authorize',
    name: 'sign-out',
    add: () => ({ view: { client }, data: to === null ? {} : { afterSignOut: to } }),
  }),
};
