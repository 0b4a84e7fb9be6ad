import { definePlugin } from '../platform/plugin.js';
import { createSessionResolver } from './credentials/session.js';
import { createStaticTokenResolver } from './credentials/static-token.js';
import { type Access, createAccess } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    access: Access;
  }
}

/** `app.access`: finds out who a caller is, and what they may do. */
export const accessPlugin = definePlugin('access', (services) => ({
  access: createAccess(services, [createSessionResolver(services), createStaticTokenResolver(services)]),
}));
