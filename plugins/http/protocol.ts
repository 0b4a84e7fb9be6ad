import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { routeNotFound } from '../../schemas/errors.js';
import { type ErrorFormat, formatError } from './errors.js';
import { type BodyType, parseBodies } from './request-parsing.js';

/**
 * How the routes of a scope use HTTP. A scope is a Fastify context (the function passed to `register`), and inherits from the scope around
 * it. The outermost scope is the JSON API.
 */
export interface Protocol {
  /**
   * Whether the routes are operations of the API. Others have fewer rules (`route-rules.ts`), and are in the OpenAPI document only if they
   * have an operation ID.
   */
  isApi: boolean;
  /** What bodies are parsed as. Bodies of other types are ignored: they count as `{}`. */
  bodies: readonly BodyType[];
  formatError: ErrorFormat;
  /** What routes declare in their `config` unless they declare something else, for example about access, CSRF, CORS, or unknown keys. */
  config: FastifyContextConfig;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The protocol of this scope. For a request, it is `request.server.protocol`. */
    protocol: Protocol;
    /** Changes the protocol of this scope. Call it before the routes of the scope are registered. */
    setProtocol(changes: Partial<Protocol>): void;
  }
}

const jsonApi: Protocol = { isApi: true, bodies: ['json'], formatError, config: {} };

/** `app.setProtocol`. Register it before all plugins and routes that read or set the config of routes. */
export const protocolPlugin = plugin(
  async (app) => {
    app.decorate('protocol', jsonApi);
    parseBodies(app, jsonApi.bodies);

    app.decorate('setProtocol', function (changes) {
      const config = { ...this.protocol.config, ...changes.config };
      this.decorate('protocol', { ...this.protocol, ...changes, config });
      if (changes.bodies) parseBodies(this, changes.bodies);
      // Otherwise, requests for unknown routes would get the errors of the outermost scope.
      if (changes.formatError) this.setNotFoundHandler(refuseUnknown);
      // Otherwise, a preflight request would get the response of the outermost scope.
      if (changes.config?.cors) this.register(preflights);
    });

    app.addHook('onRoute', function (route) {
      if (!this.protocol.isApi && !route.schema?.operationId) route.schema = { ...route.schema, hide: true };
      route.config = { ...this.protocol.config, ...route.config };
    });
  },
  { name: 'protocol' },
);

async function preflights(app: FastifyInstance): Promise<void> {
  app.setProtocol({ isApi: false, config: { access: 'open' } });
  app.options('/*', refuseUnknown);
  // The prefix itself, unless it is a route of the scope.
  const { prefix } = app;
  if (prefix !== '' && !app.hasRoute({ method: 'OPTIONS', url: prefix })) app.options('', refuseUnknown);
}

async function refuseUnknown(request: FastifyRequest): Promise<never> {
  throw routeNotFound(request);
}
