import { readFileSync } from 'node:fs';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify';
import qs from 'qs';
import type { DatabaseLocation } from './db/client.js';
import { accessPlugin } from './plugins/access/index.js';
import { activityPlugin } from './plugins/activity/index.js';
import { clientPlugin } from './plugins/client.js';
import { type Clock, clockPlugin, systemClock } from './plugins/clock.js';
import { closingPlugin } from './plugins/closing.js';
import { configPlugin } from './plugins/config.js';
import { cookiePlugin } from './plugins/cookie.js';
import { corsPlugin } from './plugins/cors.js';
import { crossSitePlugin } from './plugins/cross-site.js';
import { databaseLocation, databasePlugin } from './plugins/database.js';
import { deadlinePlugin } from './plugins/deadline.js';
import { answerFrameworkError, errorsPlugin, unknownRoutesPlugin } from './plugins/errors.js';
import { headersPlugin } from './plugins/headers.js';
import { healthPlugin } from './plugins/health/index.js';
import { answerBrokenRequest, httpFaultsPlugin } from './plugins/http-faults.js';
import { invitesPlugin } from './plugins/invites/index.js';
import { itemsPlugin } from './plugins/items/index.js';
import { jwtPlugin } from './plugins/jwt.js';
import { lastAccessPlugin } from './plugins/last-access.js';
import { createLazyCompilers } from './plugins/lazy-compilers.js';
import { localesPlugin } from './plugins/locales.js';
import { loggerOptions, loggingPlugin, requestIdOf } from './plugins/logging.js';
import { mailPlugin } from './plugins/mail/index.js';
import type { MailTransport } from './plugins/mail/transport.js';
import { mailboxPlugin } from './plugins/mailbox/index.js';
import { metricsPlugin } from './plugins/metrics/index.js';
import { pagesPlugin } from './plugins/pages/index.js';
import { passwordChecksPlugin } from './plugins/password-checks/index.js';
import { passwordResetPlugin } from './plugins/password-reset/index.js';
import { passwordRulesPlugin } from './plugins/password-rules/index.js';
import { passwordsPlugin } from './plugins/passwords/index.js';
import { periodicPlugin } from './plugins/periodic.js';
import { providersPlugin } from './plugins/providers/index.js';
import { rateLimitsPlugin } from './plugins/rate-limits/index.js';
import { redisPlugin } from './plugins/redis.js';
import { registrationPlugin } from './plugins/registration/index.js';
import { requestBodyPlugin } from './plugins/request-body.js';
import { routeRulesPlugin } from './plugins/route-rules.js';
import { securityNoticesPlugin } from './plugins/security-notices/index.js';
import { sessionsPlugin } from './plugins/sessions/index.js';
import { settingsPlugin } from './plugins/settings/index.js';
import { signingKeysPlugin } from './plugins/signing-keys/index.js';
import { swaggerPlugin } from './plugins/swagger.js';
import { tfaPlugin } from './plugins/tfa/index.js';
import { tokensPlugin } from './plugins/tokens/index.js';
import { tracingPlugin } from './plugins/tracing/index.js';
import { startTracing } from './plugins/tracing/service.js';
import { usersPlugin } from './plugins/users/index.js';
import { accessMap, beforeTfa, recordedAs, routes, unrecorded } from './routes/index.js';
import { formats, namedSchemas } from './schemas/common.js';
import type { Config } from './schemas/config.js';

/** What a process or a test brings of its own. */
export interface Overrides {
  /** Done when all is done that was left for after the start. */
  onSettled?: () => Promise<void>;
  clock?: Clock;
  database?: DatabaseLocation;
  logger?: NonNullable<FastifyServerOptions['logger']>;
  mailTransport?: MailTransport;
}

/**
 * Builds the whole service, ready to listen or to be asked by `inject`. The order below is the order in which things
 * happen to a request.
 */
export async function buildApp(config: Config, overrides: Overrides = {}): Promise<FastifyInstance> {
  const compilers = createLazyCompilers();
  const started = await startTracing(config, {
    version,
    onOutage: (reason) => app.log.warn({ reason }, 'traces are not taken by the collector'),
  });
  const logger = overrides.logger ?? loggerOptions(config.LOG_LEVEL);
  const app = fastify({
    logger: started.tracing && typeof logger === 'object' ? { ...logger, mixin: started.tracing.ids } : logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    bodyLimit: config.MAX_PAYLOAD_SIZE,
    requestTimeout: 30_000,
    // A start waits as long as it must: for a slow disk, a long migration, another instance that is migrating.
    pluginTimeout: 0,
    forceCloseConnections: 'idle',
    // A request that has arrived is answered as ever; no new connections are taken.
    return503OnClosing: false,
    http: { requireHostHeader: false },
    routerOptions: {
      ignoreTrailingSlash: true,
      // A key that is too long is a key that no item has, and answered as such.
      maxParamLength: 65_536,
      querystringParser: (text) => qs.parse(text, queryLimits),
    },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, allErrors: false, formats, strictTypes: false },
    },
    schemaController: { compilersFactory: compilers.factories },
    frameworkErrors: answerFrameworkError,
    clientErrorHandler: answerBrokenRequest,
  }).withTypeProvider<TypeBoxTypeProvider>();

  // After the start, so that no client waits for it either.
  app.addHook('onListen', () => {
    const settled = compilers.compileAll().then(overrides.onSettled);
    settled.catch((error: unknown) => app.log.error(error));
  });
  app.addHttpMethod('SEARCH', { hasBody: true });
  for (const schema of namedSchemas()) app.addSchema(schema);

  try {
    await app.register(configPlugin, { config });
    await app.register(clockPlugin, { clock: overrides.clock ?? systemClock });
    await app.register(clientPlugin);
    await app.register(tracingPlugin, started);
    await app.register(redisPlugin);
    await app.register(rateLimitsPlugin);
    await app.register(localesPlugin);
    await app.register(errorsPlugin);
    // Before anything can be refused: errors carry them too.
    await app.register(headersPlugin);
    await app.register(corsPlugin);
    await app.register(unknownRoutesPlugin);
    await app.register(closingPlugin);
    await app.register(periodicPlugin);
    await app.register(loggingPlugin);
    await app.register(httpFaultsPlugin);
    await app.register(deadlinePlugin);
    await app.register(requestBodyPlugin);
    await app.register(cookiePlugin);
    await app.register(crossSitePlugin);
    await app.register(jwtPlugin);
    await app.register(passwordsPlugin);
    await app.register(databasePlugin, { location: overrides.database ?? databaseLocation(config) });
    await app.register(activityPlugin);
    await app.register(signingKeysPlugin);
    await app.register(tokensPlugin);
    await app.register(passwordRulesPlugin);
    await app.register(passwordChecksPlugin);
    await app.register(lastAccessPlugin);
    await app.register(tfaPlugin);
    await app.register(sessionsPlugin);
    await app.register(providersPlugin);
    await app.register(accessPlugin);
    await app.register(itemsPlugin);
    await app.register(usersPlugin);
    await app.register(settingsPlugin);
    await app.register(mailPlugin, overrides.mailTransport ? { transport: overrides.mailTransport } : {});
    await app.register(securityNoticesPlugin);
    await app.register(mailboxPlugin);
    await app.register(metricsPlugin);
    await app.register(passwordResetPlugin);
    await app.register(invitesPlugin);
    await app.register(registrationPlugin);
    await app.register(healthPlugin, { version });
    await app.register(pagesPlugin);
    await app.register(routeRulesPlugin, { accessMap, beforeTfa, recordedAs, unrecorded });
    await app.register(swaggerPlugin, { version });
    await app.register(routes);
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** A number of proxies becomes a question to each hop: is it one of the nearest so many? */
function trustedProxies(setting: Config['TRUST_PROXY']) {
  return typeof setting === 'number' ? (_address: string, hop: number) => hop < setting : setting;
}

/**
 * What goes past these limits is left in a form that no parameter has, and is refused where it is read. Nothing may be
 * left out, lest a condition be lost and more be answered than was asked for: there are more parameters than fit into a
 * request line, and names that objects have of themselves are kept.
 */
const queryLimits: qs.IParseOptions = {
  depth: 60,
  parameterLimit: 100_000,
  arrayLimit: 1000,
  ignoreQueryPrefix: false,
  plainObjects: true,
  // The parser drops `__proto__` without a word; in any other spelling it is a name that nobody knows, and refused.
  decoder: (text, decode, charset, type) => {
    const decoded = decode(text, decode, charset);
    return type === 'key' ? decoded.replaceAll('__proto__', '__proto__ ') : decoded;
  },
};

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as { version: string };
