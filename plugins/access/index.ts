import { definePlugin } from '../platform/plugin.js';
import { createResolvers } from './credentials/index.js';
import { type Access, createAccess } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    access: Access;
  }
}

/** `app.access`: finds out who a caller is, and what they may do. */
export const accessPlugin = definePlugin('access', (services) => ({
  access: createAccess(services, createResolvers(services)),
}));
