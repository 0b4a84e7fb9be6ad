import { definePlugin } from '../platform/plugin.js';
import { createResolvers } from './credentials/index.js';
import { createPrincipals, type Principals } from './principals.js';
import { type Access, createAccess } from './service.js';
import { createReachOf, type ReachOf } from './user-reach.js';

declare module '../platform/plugin.js' {
  interface Services {
    principals: Principals;
    access: Access;
    reachOf: ReachOf;
  }
}

/** `app.principals`: the users of credentials, with their rights. */
export const principalsPlugin = definePlugin('access/principals', (services) => ({
  principals: createPrincipals(services),
}));

/** `app.access`: finds out who a caller is, and what they may do. `app.reachOf`: the users whose rights do not exceed those of a caller. */
export const accessPlugin = definePlugin('access', (services) => ({
  access: createAccess(services, createResolvers(services)),
  reachOf: createReachOf(services),
}));
