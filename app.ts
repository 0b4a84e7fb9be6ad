import { readFileSync } from 'node:fs';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify';
import type { DatabaseLocation } from './db/client.js';
import { accessPlugin } from './plugins/access/index.js';
import { activityPlugin } from './plugins/activity/index.js';
import { emailLoginPlugin } from './plugins/email-login/index.js';
import { clientPlugin } from './plugins/http/caller.js';
import { connectionLimitPlugin } from './plugins/http/connection-limit.js';
import { cookiePlugin } from './plugins/http/cookies.js';
import { corsPlugin } from './plugins/http/cors.js';
import { csrfPlugin } from './plugins/http/csrf.js';
import { errorsPlugin, respondToFrameworkError } from './plugins/http/errors.js';
import { gracefulShutdownPlugin } from './plugins/http/graceful-shutdown.js';
import { headersPlugin } from './plugins/http/headers.js';
import { httpErrorsPlugin, respondToMalformedRequest } from './plugins/http/http-errors.js';
import { createLazyCompilers } from './plugins/http/lazy-compilers.js';
import { protocolPlugin } from './plugins/http/protocol.js';
import { parseQueryString, requestParsingPlugin, unknownRoutesPlugin } from './plugins/http/request-parsing.js';
import { requestTimeoutPlugin } from './plugins/http/request-timeout.js';
import { routeRulesPlugin } from './plugins/http/route-rules.js';
import { staticFilesPlugin } from './plugins/http/static-files.js';
import { trustsProxyOf } from './plugins/http/trusted-proxies.js';
import { ajvOptions, useOwnFormats } from './plugins/http/validation.js';
import { invitesPlugin } from './plugins/invites/index.js';
import { itemsPlugin } from './plugins/items/index.js';
import { mailPlugin } from './plugins/mail/index.js';
import { mailboxPlugin } from './plugins/mail/mailbox/index.js';
import { securityNoticesPlugin } from './plugins/mail/security-notices/index.js';
import type { MailTransport } from './plugins/mail/transport.js';
import { healthPlugin } from './plugins/monitoring/health/index.js';
import { createRequestIdGenerator, loggerOptions, loggingPlugin, outagesPlugin } from './plugins/monitoring/logging.js';
import { metricsPlugin } from './plugins/monitoring/metrics/index.js';
import { tracingPlugin } from './plugins/monitoring/tracing/index.js';
import { startTracing } from './plugins/monitoring/tracing/service.js';
import { referencePlugin } from './plugins/openapi/reference.js';
import { swaggerPlugin } from './plugins/openapi/swagger.js';
import { pagesPlugin } from './plugins/pages/index.js';
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
import { redisPlugin } from './plugins/platform/redis.js';
import { schedulerPlugin } from './plugins/platform/scheduler.js';
import { providersPlugin } from './plugins/providers/index.js';
import { rateLimitsPlugin } from './plugins/rate-limits/index.js';
import { registrationPlugin } from './plugins/registration/index.js';
import { secondFactorPlugin } from './plugins/second-factor/index.js';
import { sessionsPlugin } from './plugins/sessions/index.js';
import { lastAccessPlugin } from './plugins/sessions/last-access.js';
import { settingsPlugin } from './plugins/settings/index.js';
import { signInMethodsPlugin } from './plugins/sign-in-methods/index.js';
import { stepUpPlugin } from './plugins/step-up/index.js';
import { tfaPlugin } from './plugins/tfa/index.js';
import { tokensPlugin } from './plugins/tokens/index.js';
import { jwtPlugin } from './plugins/tokens/jwt.js';
import { signingKeysPlugin } from './plugins/tokens/signing-keys/index.js';
import { bootstrapOf } from './plugins/users/bootstrap.js';
import { emailChangesPlugin } from './plugins/users/email-changes/index.js';
import { usersPlugin } from './plugins/users/index.js';
import { ownAccountPlugin } from './plugins/users/own-account/index.js';
import { webauthnPlugin } from './plugins/webauthn/index.js';
import { routes } from './routes/index.js';
import { namedSchemas } from './schemas/common.js';
import type { Config } from './schemas/config.js';

/** Options that a process or a test can set in addition to the configuration. */
export interface Overrides {
  /** Called once the work that was deferred until after startup has finished. */
  onSettled?: () => Promise<void>;
  clock?: Clock;
  database?: DatabaseLocation;
  logger?: NonNullable<FastifyServerOptions['logger']>;
  mailTransport?: MailTransport;
  /** Whether the first password of the administrator can be displayed on a terminal. */
  showsPassword?: boolean;
}

/**
 * Builds the whole service, ready to listen or to receive requests through `inject`. The plugins below are registered in the
 * order in which they handle a request.
 */
export async function buildApp(config: Config, overrides: Overrides = {}): Promise<FastifyInstance> {
  const compilers = createLazyCompilers();
  const started = await startTracing(config, {
    version,
    onOutage: (reason) => app.log.warn({ reason }, 'the collector does not accept the traces'),
  });
  const trustsProxy = trustsProxyOf(config.TRUST_PROXY);
  const logger = overrides.logger ?? loggerOptions(config.LOG_LEVEL);
  const app = fastify({
    logger: started.tracing && typeof logger === 'object' ? { ...logger, mixin: started.tracing.ids } : logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: createRequestIdGenerator(trustsProxy),
    // With a function, Fastify evaluates each hop, which is unnecessary when no proxy is trusted.
    trustProxy: config.TRUST_PROXY === false ? false : trustsProxy,
    bodyLimit: config.MAX_PAYLOAD_SIZE,
    requestTimeout: 30_000,
    // No timeout: startup may have to wait for a slow disk, a long migration, or another instance that is migrating.
    pluginTimeout: 0,
    forceCloseConnections: 'idle',
    // While the service closes, requests that have already arrived get their normal response; new connections are not accepted.
    return503OnClosing: false,
    http: { requireHostHeader: false },
    routerOptions: {
      ignoreTrailingSlash: true,
      // An overlong key gets the same response as a key that no item has.
      maxParamLength: 65_536,
      querystringParser: parseQueryString,
    },
    ajv: { customOptions: ajvOptions, onCreate: useOwnFormats },
    schemaController: { compilersFactory: compilers.factories },
    frameworkErrors: respondToFrameworkError,
    clientErrorHandler: respondToMalformedRequest,
  }).withTypeProvider<TypeBoxTypeProvider>();

  // Compile the schemas after startup, so that neither startup nor a client has to wait for them.
  app.addHook('onListen', () => {
    const settled = compilers.compileAll().then(overrides.onSettled);
    settled.catch((error: unknown) => app.log.error(error));
  });
  app.addHttpMethod('SEARCH', { hasBody: true });
  for (const schema of namedSchemas()) app.addSchema(schema);

  try {
    await app.register(configPlugin, { config });
    await app.register(protocolPlugin);
    await app.register(clockPlugin, { clock: overrides.clock ?? systemClock });
    await app.register(clientPlugin);
    await app.register(currentRequestPlugin);
    await app.register(tracingPlugin, started);
    await app.register(redisPlugin);
    await app.register(rateLimitsPlugin);
    await app.register(localesPlugin);
    await app.register(outagesPlugin);
    await app.register(errorsPlugin);
    await app.register(staticFilesPlugin);
    // Before any plugin that can reject a request: error responses need these headers, too.
    await app.register(headersPlugin);
    await app.register(httpErrorsPlugin);
    await app.register(requestParsingPlugin);
    await app.register(corsPlugin);
    await app.register(unknownRoutesPlugin);
    await app.register(connectionLimitPlugin);
    await app.register(gracefulShutdownPlugin);
    await app.register(schedulerPlugin);
    await app.register(loggingPlugin);
    await app.register(requestTimeoutPlugin);
    await app.register(cookiePlugin);
    await app.register(csrfPlugin);
    await app.register(jwtPlugin);
    await app.register(passwordsPlugin);
    await app.register(databasePlugin, {
      location: overrides.database ?? databaseLocation(config),
      bootstrap: bootstrapOf(app, overrides.showsPassword ?? false),
    });
    await app.register(jobsPlugin);
    await app.register(activityPlugin);
    await app.register(signingKeysPlugin);
    await app.register(tokensPlugin);
    await app.register(passwordRulesPlugin);
    await app.register(passwordChecksPlugin);
    await app.register(lastAccessPlugin);
    await app.register(signInMethodsPlugin);
    await app.register(secondFactorPlugin);
    await app.register(webauthnPlugin);
    await app.register(stepUpPlugin);
    await app.register(tfaPlugin);
    await app.register(passkeysPlugin);
    await app.register(sessionsPlugin);
    await app.register(providersPlugin);
    await app.register(accessPlugin);
    await app.register(itemsPlugin);
    await app.register(usersPlugin);
    await app.register(settingsPlugin);
    await app.register(mailPlugin, overrides.mailTransport ? { transport: overrides.mailTransport } : {});
    await app.register(securityNoticesPlugin);
    await app.register(mailboxPlugin);
    await app.register(healthPlugin, { version });
    await app.register(metricsPlugin);
    await app.register(passwordResetPlugin);
    await app.register(emailLoginPlugin);
    await app.register(invitesPlugin);
    await app.register(emailChangesPlugin);
    await app.register(ownAccountPlugin);
    await app.register(registrationPlugin);
    await app.register(pagesPlugin);
    await app.register(routeRulesPlugin);
    await app.register(swaggerPlugin, { version });
    await app.register(referencePlugin);
    await app.register(routes);
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as { version: string };
