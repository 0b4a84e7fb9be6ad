import { deleteExpiredRecords } from '../../db/queries/applications/records.js';
import { definePlugin } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { type AuthorizationRequests, createAuthorizationRequests } from './authorization-requests.js';
import { applyDeclaration, readDeclaration } from './declared.js';
import { createDevices, type Devices } from './devices.js';
import { formatOAuthError } from './errors.js';
import { createGrants, type Grants } from './grants.js';
import { createLogoutNotices, type LogoutNotices } from './logout-notices.js';
import { createProtocol, type Protocol } from './protocol.js';
import { createProviderRunner } from './provider/index.js';
import { type CreateClientSecret, createCreateClientSecret } from './secrets.js';
import { type ClientSignOut, createSignOut } from './sign-out.js';
import { createClientWriteRules, resourceWriteRules } from './write-rules.js';

declare module '../platform/plugin.js' {
  interface Services {
    /** The OpenID Connect provider: applications sign users in with accounts of this service. */
    openIdProvider: {
      protocol: Protocol;
      authorizationRequests: AuthorizationRequests;
      devices: Devices;
      signOut: ClientSignOut;
      logoutNotices: LogoutNotices;
      formatError: typeof formatOAuthError;
    };
    /** The access that users have given to applications. */
    grants: Grants;
    createClientSecret: CreateClientSecret;
  }
}

/**
 * `app.openIdProvider`, `app.grants`, and `app.createClientSecret`, which replaces the secret of a client. Expired records are deleted every
 * hour.
 * @param appliesDeclaration whether the clients and resources in CLIENTS are created and updated now
 */
export const applicationsPlugin = definePlugin<{ appliesDeclaration: boolean }>(
  'applications',
  async (services, _app, options) => {
    const { config, maintenanceDb, clock, every, writeRules } = services;
    const declaration = config.CLIENTS && options.appliesDeclaration ? readDeclaration(config.CLIENTS) : undefined;
    if (options.appliesDeclaration) await applyDeclaration(services, declaration);
    const withDeclaredSecret = new Set(declaration?.clients.flatMap(({ id, secretHash }) => (secretHash ? [id] : [])));
    writeRules.clients = createClientWriteRules(services);
    writeRules.resources = resourceWriteRules;
    const running = createProviderRunner(services);
    every(hour, () => deleteExpiredRecords(maintenanceDb, clock()), 'expired codes and tokens could not be deleted');
    return {
      openIdProvider: {
        protocol: createProtocol(running),
        authorizationRequests: createAuthorizationRequests(services, running),
        devices: createDevices(services, running),
        signOut: createSignOut(running),
        logoutNotices: createLogoutNotices(services, running),
        formatError: formatOAuthError,
      },
      grants: createGrants(services),
      createClientSecret: createCreateClientSecret(services, (id) => withDeclaredSecret.has(id)),
    };
  },
);
