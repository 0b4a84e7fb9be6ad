import plugin from 'fastify-plugin';
import { toApiError } from '../../http/errors.js';
import { type Observe, unobserved } from '../../platform/traced-operations.js';
import { describeError } from '../logging.js';
import type { RequestTrace, StartedTracing, Tracing } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Null if tracing is off. */
    tracing: Tracing | null;
    observe: Observe;
  }
  interface FastifyRequest {
    trace: RequestTrace | null;
  }
}

/** `app.observe`: measures anything that takes time. Also creates a span for each request, named after its route. */
export const tracingPlugin = plugin<StartedTracing>(
  async (app, { tracing, faults }) => {
    app.decorate('tracing', tracing);
    app.decorate('observe', tracing?.observe ?? unobserved);
    for (const fault of faults) app.log.warn({ reason: fault }, 'tracing is not configured as requested');
    if (!tracing) return;
    app.decorateRequest('trace', null);

    // Hooks with callbacks, because all that follows must run inside `trace.run`.
    app.addHook('onRequest', (request, reply, next) => {
      const { method, headers, client, routeOptions, is404 } = request;
      const trace = once(
        tracing.begin({
          method,
          route: is404 ? undefined : routeOptions.url,
          headers,
          attributes: {
            // Without the query, because it may contain tokens.
            'url.path': request.path,
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
    // The body arrives in events outside the trace's context, so enter it again.
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

/** Ends the trace only once, because `close` also fires after `onResponse`. */
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
