import { readFileSync } from 'node:fs';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify';
import { authenticationPlugin } from './plugins/access/authentication.js';
import { deniedRequestsPlugin } from './plugins/activity/denied-requests.js';
import { browserSessionPlugin } from './plugins/applications/browser-session.js';
import { clientPlugin } from './plugins/http/caller.js';
import { connectionLimitPlugin } from './plugins/http/connection-limit.js';
import { cookiePlugin } from './plugins/http/cookies.js';
import { corsPlugin } from './plugins/http/cors.js';
import { csrfPlugin } from './plugins/http/csrf.js';
import { dryRunPlugin } from './plugins/http/dry-run.js';
import { errorsPlugin } from './plugins/http/errors.js';
import { gracefulShutdownPlugin } from './plugins/http/graceful-shutdown.js';
import { headersPlugin } from './plugins/http/headers.js';
import { httpErrorsPlugin, respondToMalformedRequest } from './plugins/http/http-errors.js';
import { createLazyCompilers } from './plugins/http/lazy-compilers.js';
import { longResponsePlugin } from './plugins/http/long-response.js';
import { protocolPlugin } from './plugins/http/protocol.js';
import { parseQueryString, requestParsingPlugin, unknownRoutesPlugin } from './plugins/http/request-parsing.js';
import { requestTimeoutPlugin } from './plugins/http/request-timeout.js';
import { routeRulesPlugin } from './plugins/http/route-rules.js';
import { staticFilesPlugin } from './plugins/http/static-files.js';
import { trustsProxyOf } from './plugins/http/trusted-proxies.js';
import { unitOfWorkPlugin } from './plugins/http/unit-of-work.js';
import { ajvOptions, useOwnFormats } from './plugins/http/validation.js';
import { idempotencyPlugin } from './plugins/idempotency/index.js';
import { metricsPlugin } from './plugins/metrics/index.js';
import { healthPlugin } from './plugins/monitoring/health/index.js';
import { createRequestIdGenerator, loggerOptions, loggingPlugin } from './plugins/monitoring/logging.js';
import { outagesPlugin } from './plugins/monitoring/outages.js';
import { requestTracingPlugin } from './plugins/monitoring/request-tracing.js';
import { referenceRoutes } from './plugins/openapi/reference.js';
import { swaggerPlugin } from './plugins/openapi/swagger.js';
import { pagesPlugin } from './plugins/pages/index.js';
import { startTracing } from './plugins/platform/tracing/service.js';
import { respondToFrameworkError } from './plugins/rate-limits/framework-errors.js';
import { requestLimitsPlugin } from './plugins/rate-limits/requests.js';
import { knownBrowserPlugin } from './plugins/sessions/known-browser.js';
import { tokenTransportPlugin } from './plugins/sessions/token-transport.js';
import { selfServicePlugin } from './plugins/users/own-account/self-service.js';
import { routes } from './routes/index.js';
import { namedSchemas } from './schemas/common.js';
import type { Config } from './schemas/config.js';
import { registerServices, type ServiceOptions } from './services.js';

/** What a process or a test can set in addition to the configuration. */
export interface Overrides extends Omit<ServiceOptions, 'tracing'> {
  /** Called once the work that was deferred until after startup has finished. */
  onSettled?: () => Promise<void>;
  logger?: NonNullable<FastifyServerOptions['logger']>;
}

/**
 * Builds the whole service, ready to listen or to receive requests through `inject`: the services, and below them everything
 * that is about HTTP, in the order in which it handles a request.
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
    await app.register(protocolPlugin);
    await registerServices(app, config, { ...overrides, tracing: started, bootstrap: true });
    await app.register(clientPlugin);
    await app.register(unitOfWorkPlugin);
    await app.register(requestTracingPlugin);
    await app.register(requestLimitsPlugin);
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
    await app.register(loggingPlugin);
    await app.register(requestTimeoutPlugin);
    await app.register(longResponsePlugin);
    await app.register(cookiePlugin);
    await app.register(csrfPlugin);
    await app.register(deniedRequestsPlugin);
    await app.register(knownBrowserPlugin);
    await app.register(tokenTransportPlugin);
    await app.register(authenticationPlugin);
    await app.register(browserSessionPlugin);
    await app.register(selfServicePlugin);
    await app.register(healthPlugin, { version });
    await app.register(metricsPlugin);
    await app.register(pagesPlugin);
    await app.register(dryRunPlugin);
    await app.register(idempotencyPlugin);
    await app.register(routeRulesPlugin);
    await app.register(swaggerPlugin, { version });
    await app.register(referenceRoutes);
    await app.register(routes);
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as { version: string };
