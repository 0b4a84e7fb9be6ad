import { permissionsRoutes } from './access/permissions.js';
import { policiesRoutes } from './access/policies.js';
import { rolesRoutes } from './access/roles.js';
import { activityRoutes } from './activity/index.js';
import { statisticsRoutes } from './activity/read-statistics.js';
import type { App } from './app.js';
import { clientsRoutes } from './applications/clients.js';
import { grantsRoutes } from './applications/grants.js';
import { metadataRoutes, protocolRoutes } from './applications/protocol.js';
import { resourcesRoutes } from './applications/resources.js';
import { authRoutes } from './auth/index.js';
import { sessionsRoutes } from './auth/sessions.js';
import { wellKnownRoutes } from './auth/well-known.js';
import { invitesRoutes } from './invites/index.js';
import { mailboxRoutes } from './mail/mailbox.js';
import { mailsRoutes } from './mail/mails.js';
import { pagesRoutes } from './pages/index.js';
import { passkeysRoutes } from './passkeys/index.js';
import { identitiesRoutes, providersRoutes } from './providers/index.js';
import { registrationRoutes } from './registration/index.js';
import { serverRoutes } from './server/index.js';
import { metricsRoutes } from './server/metrics.js';
import { settingsRoutes } from './settings/index.js';
import { tfaRoutes } from './tfa/index.js';
import { usersRoutes } from './users/index.js';
import { ownAccountRoutes } from './users/own-account.js';

/** Registers all routes. */
export async function routes(app: App): Promise<void> {
  await app.register(authRoutes, { prefix: '/auth' });
  await app.register(providersRoutes, { prefix: '/auth' });
  await app.register(identitiesRoutes, { prefix: '/users' });
  await app.register(sessionsRoutes, { prefix: '/users' });
  if (app.config.AUTH_PASSKEYS) await app.register(passkeysRoutes, { prefix: '/users' });
  await app.register(grantsRoutes, { prefix: '/users' });
  await app.register(ownAccountRoutes, { prefix: '/users' });
  await app.register(usersRoutes, { prefix: '/users' });
  await app.register(tfaRoutes, { prefix: '/users' });
  await app.register(invitesRoutes, { prefix: '/users' });
  await app.register(registrationRoutes, { prefix: '/users' });
  await app.register(rolesRoutes, { prefix: '/roles' });
  await app.register(policiesRoutes, { prefix: '/policies' });
  await app.register(permissionsRoutes, { prefix: '/permissions' });
  await app.register(settingsRoutes, { prefix: '/settings' });
  await app.register(clientsRoutes, { prefix: '/clients' });
  await app.register(resourcesRoutes, { prefix: '/resources' });
  await app.register(mailsRoutes, { prefix: '/mails' });
  await app.register(activityRoutes, { prefix: '/activity' });
  await app.register(statisticsRoutes, { prefix: '/statistics' });
  await app.register(serverRoutes, { prefix: '/server' });
  await app.register(wellKnownRoutes, { prefix: '/.well-known' });
  await app.register(protocolRoutes, { prefix: '/oauth' });
  // Each has a scope of its own: other files in the folder belong to the JSON API.
  for (const name of ['openid-configuration', 'oauth-authorization-server'] as const)
    await app.register(metadataRoutes(name), { prefix: `/.well-known/${name}` });
  await app.register(pagesRoutes);
  if (app.metrics) await app.register(metricsRoutes, { prefix: '/metrics' });
  if (app.mail.hasMailbox) await app.register(mailboxRoutes, { prefix: '/mailbox' });
}
