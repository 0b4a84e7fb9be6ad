import plugin from 'fastify-plugin';
import { type Observe, unobserved } from '../../platform/traced-operations.js';
import { pathOf, toApiError } from '../errors.js';
import { describeError } from '../logging.js';
import type { RequestTrace, StartedTracing, Tracing } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Null: nothing is traced. */
    tracing: Tracing | null;
    observe: Observe;
  }
  interface FastifyRequest {
    trace: RequestTrace | null;
  }
}

/** `app.observe` for whatever takes time; and a span for each request, named by its route. */
export const tracingPlugin = plugin<StartedTracing>(
  async (app, { tracing, faults }) => {
    app.decorate('tracing', tracing);
    app.decorate('observe', tracing?.observe ?? unobserved);
    for (const fault of faults) app.log.warn({ reason: fault }, 'tracing is not as it was asked for');
    if (!tracing) return;
    app.decorateRequest('trace', null);

    // With callbacks: all that follows is called from in there.
    app.addHook('onRequest', (request, reply, next) => {
      const { method, headers, client, routeOptions, is404 } = request;
      const trace = once(
        tracing.begin({
          method,
          route: is404 ? undefined : routeOptions.url,
          headers,
          attributes: {
            // Without the query: there are tokens in it.
            'url.path': pathOf(request.url),
            'url.scheme': request.protocol,
            'server.address': request.hostname,
            'network.protocol.version': request.raw.httpVersion,
            'http.response.header.x-request-id': [request.id],
            ...(client.ip === null ? {} : { 'client.address': client.ip }),
            ...(client.userAgent === null ? {} : { 'user_agent.original': client.userAgent }),
          },
        }),
      );
      request.trace = trace;
      reply.raw.once('close', () => trace.end(reply.raw.writableFinished ? reply.statusCode : undefined));
      trace.run(next);
    });
    // A body arrives from elsewhere.
    app.addHook('preValidation', (request, _reply, next) => request.trace?.run(next));
    app.addHook('onError', (request, _reply, error, next) => {
      if (toApiError(error).status >= 500) request.trace?.fail(describeError(error));
      next();
    });
    app.addHook('onResponse', (request, reply, next) => {
      request.trace?.end(reply.statusCode);
      request.trace?.run(next);
    });
    app.addHook('onClose', () => tracing.stop());
  },
  { name: 'tracing', dependencies: ['client'] },
);

/** A connection that closes is told of after the answer, too. */
function once(trace: RequestTrace): RequestTrace {
  let hasEnded = false;
  return {
    ...trace,
    end: (status) => {
      if (!hasEnded) trace.end(status);
      hasEnded = true;
    },
  };
}
