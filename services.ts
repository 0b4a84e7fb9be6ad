import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import type { DatabaseLocation } from './db/client.js';
import { accessPlugin, principalsPlugin } from './plugins/access/index.js';
import { activityPlugin } from './plugins/activity/index.js';
import { applicationsPlugin } from './plugins/applications/index.js';
import { emailLoginPlugin } from './plugins/email-login/index.js';
import { explanationsPlugin } from './plugins/explanations/index.js';
import { ownCookiesPlugin } from './plugins/http/own-cookies.js';
import { invitesPlugin } from './plugins/invites/index.js';
import { itemsPlugin } from './plugins/items/index.js';
import { mailPlugin } from './plugins/mail/index.js';
import { mailboxPlugin } from './plugins/mail/mailbox/index.js';
import { securityNoticesPlugin } from './plugins/mail/security-notices/index.js';
import type { MailTransport } from './plugins/mail/transport.js';
import { passkeysPlugin } from './plugins/passkeys/index.js';
import { passwordResetPlugin } from './plugins/password-reset/index.js';
import { passwordChecksPlugin } from './plugins/passwords/checks/index.js';
import { passwordsPlugin } from './plugins/passwords/hashing/index.js';
import { passwordRulesPlugin } from './plugins/passwords/rules/index.js';
import { type Clock, clockPlugin, systemClock } from './plugins/platform/clock.js';
import { configPlugin } from './plugins/platform/config.js';
import { currentRequestPlugin } from './plugins/platform/current-request.js';
import { databaseLocation, databasePlugin } from './plugins/platform/database.js';
import { jobsPlugin } from './plugins/platform/jobs/index.js';
import { localesPlugin } from './plugins/platform/locales.js';
import type { Services } from './plugins/platform/plugin.js';
import { redisPlugin } from './plugins/platform/redis.js';
import { schedulerPlugin } from './plugins/platform/scheduler.js';
import { tracingPlugin } from './plugins/platform/tracing/index.js';
import type { StartedTracing } from './plugins/platform/tracing/service.js';
import { providersPlugin } from './plugins/providers/index.js';
import { rateLimitsPlugin } from './plugins/rate-limits/index.js';
import { registrationPlugin } from './plugins/registration/index.js';
import { secondFactorPlugin } from './plugins/second-factor/index.js';
import { sessionsPlugin } from './plugins/sessions/index.js';
import { lastAccessPlugin } from './plugins/sessions/last-access.js';
import { settingsPlugin } from './plugins/settings/index.js';
import { signInMethodsPlugin } from './plugins/sign-in-methods/index.js';
import { stepUpPlugin } from './plugins/step-up/index.js';
import { supportPlugin } from './plugins/support/index.js';
import { tfaPlugin } from './plugins/tfa/index.js';
import { tokensPlugin } from './plugins/tokens/index.js';
import { signingKeysPlugin } from './plugins/tokens/signing-keys/index.js';
import { bootstrap, type CreatedAdministrator, createdAdministratorPlugin } from './plugins/users/bootstrap.js';
import { emailChangesPlugin } from './plugins/users/email-changes/index.js';
import { usersPlugin } from './plugins/users/index.js';
import { ownAccountPlugin } from './plugins/users/own-account/index.js';
import { webauthnPlugin } from './plugins/webauthn/index.js';
import type { Config } from './schemas/config.js';

/** What a process or a test can set in addition to the configuration. */
export interface ServiceOptions {
  clock?: Clock;
  database?: DatabaseLocation;
  mailTransport?: MailTransport;
  tracing?: StartedTracing;
  /** Whether the first password of the administrator can be displayed on a terminal. */
  showsPassword?: boolean;
}

/**
 * Registers the services, which know nothing about HTTP. A plugin uses only what the plugins before it provide.
 * @param options.bootstrap whether the database is created or migrated, if necessary. Otherwise, it must be up to date.
 */
export async function registerServices(
  app: FastifyInstance,
  config: Config,
  options: ServiceOptions & { bootstrap: boolean },
): Promise<void> {
  const { clock = systemClock, database = databaseLocation(config), mailTransport, showsPassword = false } = options;
  await app.register(configPlugin, { config });
  await app.register(clockPlugin, { clock });
  await app.register(localesPlugin);
  await app.register(schedulerPlugin);
  await app.register(currentRequestPlugin);
  await app.register(tracingPlugin, options.tracing ?? { tracing: null, faults: [] });
  await app.register(redisPlugin);
  let created: CreatedAdministrator | null = null;
  // Before the database, because creating the administrator requires hashing a password.
  await app.register(passwordsPlugin);
  await app.register(databasePlugin, {
    location: database,
    bootstrap: options.bootstrap
      ? async (tx) => {
          created = await bootstrap(tx, app, showsPassword);
        }
      : null,
  });
  await app.register(jobsPlugin);
  await app.register(ownCookiesPlugin);
  await app.register(rateLimitsPlugin);
  await app.register(activityPlugin);
  await app.register(signingKeysPlugin);
  await app.register(tokensPlugin);
  await app.register(mailPlugin, mailTransport ? { transport: mailTransport } : {});
  await app.register(securityNoticesPlugin);
  await app.register(mailboxPlugin);
  await app.register(signInMethodsPlugin);
  await app.register(passwordRulesPlugin);
  await app.register(passwordChecksPlugin);
  await app.register(secondFactorPlugin);
  await app.register(webauthnPlugin);
  await app.register(stepUpPlugin);
  await app.register(lastAccessPlugin);
  await app.register(sessionsPlugin);
  await app.register(passwordResetPlugin);
  await app.register(emailLoginPlugin);
  await app.register(tfaPlugin);
  await app.register(passkeysPlugin);
  await app.register(principalsPlugin);
  await app.register(accessPlugin);
  await app.register(itemsPlugin);
  await app.register(createdAdministratorPlugin, { created });
  await app.register(emailChangesPlugin);
  await app.register(usersPlugin);
  await app.register(supportPlugin);
  await app.register(ownAccountPlugin);
  await app.register(invitesPlugin);
  await app.register(registrationPlugin);
  await app.register(providersPlugin);
  await app.register(settingsPlugin);
  await app.register(explanationsPlugin);
  await app.register(applicationsPlugin, { appliesDeclaration: options.bootstrap });
}

/**
 * Opens the services for a program that needs no HTTP, such as a command, on a database that exists already. Nothing runs in the
 * background.
 * @throws {SchemaError} if the tables are not up to date
 */
export async function openServices(
  config: Config,
  options: Pick<ServiceOptions, 'clock' | 'database'> & Pick<FastifyServerOptions, 'logger'> = {},
): Promise<Services & { close(): Promise<void> }> {
  const app = fastify({ logger: options.logger ?? false, pluginTimeout: 0 });
  try {
    await registerServices(app, config, { ...options, bootstrap: false });
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}
