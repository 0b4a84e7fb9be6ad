import { toApiError } from '../http/errors.js';
import { definePlugin } from '../platform/plugin.js';
import type { RequestTrace } from '../platform/tracing/service.js';
import { describeError } from './logging.js';

declare module 'fastify' {
  interface FastifyRequest {
    trace: RequestTrace | null;
  }
}

/** Creates a span for each request, named after its route. */
export const requestTracingPlugin = definePlugin('monitoring/request-tracing', ({ tracing }, app) => {
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
});

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
