import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { isCancelled, isDatabaseUnavailable } from '../../db/failures.js';
import { ApiError } from '../../schemas/errors.js';
import { bareHeaders } from './headers.js';
import { findFramingFault } from './request-framing.js';

/** Turns whatever was thrown into an `ApiError`. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { validation, validationContext, statusCode, code } = error as Partial<FastifyError>;
  if (validation) {
    const [first] = validation;
    const name = first?.instancePath.slice(1).replaceAll('/', '.');
    const reason = `${name ? `${name}: ` : ''}${first?.message ?? 'not acceptable'}`;
    return new ApiError(validationContext === 'querystring' ? 'INVALID_QUERY' : 'INVALID_PAYLOAD', { reason });
  }
  // What Fastify itself refuses before a handler runs: a body too large or cut short, broken framing, a malformed URL.
  // It comes before the question below, because a client that hangs up gives the same code as a database that does.
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ApiError('INVALID_PAYLOAD', { reason: reasons[code ?? ''] ?? 'The request is malformed.' });
  }
  if (isDatabaseUnavailable(error)) {
    const reason = isCancelled(error) ? 'The database took too long.' : 'The database cannot be reached.';
    return new ApiError('SERVICE_UNAVAILABLE', { service: 'database', reason });
  }
  return new ApiError('INTERNAL_SERVER_ERROR');
}

const reasons: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than MAX_PAYLOAD_SIZE allows.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as Content-Length says.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The Content-Type header is malformed.',
  FST_ERR_BAD_URL: 'The URL is malformed.',
  ECONNRESET: 'The body did not arrive in full.',
};

/** Renders an error. It goes out as it is, past the response schemas: the catalogue has made it. */
function render(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const error = withMediaType(toApiError(thrown), request);
  if (error.status >= 500) request.log.error({ err: thrown }, error.message);
  reply.header('x-request-id', request.id);
  // It is not certain where the next request on this connection begins, whatever the error is.
  if (findFramingFault(request.raw) !== undefined) reply.header('connection', 'close');
  if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
  // RFC 6585, 4; here already, because it comes before all that sets headers.
  if (error.status === 429) reply.header('cache-control', 'no-store');
  return reply
    .code(error.status)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send({ errors: [error.toEntry()] });
}

/** If the body was not read, its fields are not what the client has to correct. */
function withMediaType(error: ApiError, { hasIgnoredBody }: FastifyRequest): ApiError {
  if (!hasIgnoredBody || error.code !== 'INVALID_PAYLOAD') return error;
  const { reason } = error.extensions as { reason: string };
  return new ApiError('INVALID_PAYLOAD', {
    reason: `The body was ignored because it was sent without Content-Type: application/json. ${reason}`,
  });
}

/** Answers what Fastify refuses before there is a route to run hooks for; counts and logs it in their stead. */
export function answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const answer = (thrown: unknown) => {
    render(thrown, request, reply.headers(bareHeaders));
    const { method, url, ip } = request;
    request.log.info({ method, path: pathOf(url), status: reply.statusCode, ip }, 'request');
  };
  request.server.requireRequest(request).then(() => answer(error), answer);
}

/** The one place where errors become answers. */
export const errorsPlugin = plugin(
  async (app) => {
    app.setErrorHandler(render);
    app.setNotFoundHandler((request) => {
      throw routeNotFound(request);
    });
  },
  { name: 'errors' },
);

/** Refuses unknown routes before a body is read: nobody is interested in what was sent there. */
export const unknownRoutesPlugin = plugin(
  async (app) => {
    app.addHook('onRequest', async (request) => {
      if (request.is404) throw routeNotFound(request);
    });
  },
  { name: 'unknown-routes', dependencies: ['errors'] },
);

/** A path or method that does not exist. */
export const routeNotFound = (request: FastifyRequest) =>
  new ApiError('ROUTE_NOT_FOUND', { path: pathOf(request.url) });

/** The path of a URL. The query is left out wherever a URL is repeated or logged: it may hold a token. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';
