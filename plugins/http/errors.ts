import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { databaseOutageOf } from '../../db/failures.js';
import { ApiError, routeNotFound, unavailable } from '../../schemas/errors.js';
import { definePlugin } from '../platform/plugin.js';
import { findFramingFault } from './request-parsing.js';
import { toValidationError } from './validation.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The highest `retry-after` that is sent when the service is unavailable, in seconds. */
    maxRetryAfter?: number;
  }
}

/** Converts anything that was thrown into an `ApiError`. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { validation, validationContext, statusCode, code } = error as Partial<FastifyError>;
  if (validation) return toValidationError(validation, validationContext);
  // Requests that Fastify itself rejects before a handler runs: an oversized or truncated body, broken framing, a malformed URL.
  // This check must come before the one for the database: a disconnect of either the client or the database has the same code.
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ApiError('INVALID_PAYLOAD', { reason: reasons[code ?? ''] ?? 'The request is malformed.' });
  }
  const outage = databaseOutageOf(error);
  return outage ? unavailable(outage) : new ApiError('INTERNAL_SERVER_ERROR');
}

const reasons: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than MAX_PAYLOAD_SIZE allows.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The length of the body does not match Content-Length.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The Content-Type header is malformed.',
  FST_ERR_BAD_URL: 'The URL is malformed.',
  ECONNRESET: 'The body is incomplete.',
};

/** What the clients of a scope expect in an error response (`protocol.ts`). The other headers are the same everywhere. */
export type ErrorFormat = (
  error: ApiError,
  request: FastifyRequest,
) => { status: number; body: object; headers?: Record<string, string> };

/** The errors of the JSON API. */
export const formatError: ErrorFormat = (error, request) => ({
  status: error.status,
  body: { errors: [withMediaType(error, request).toEntry()] },
});

/** Sends an error response. Outages are logged elsewhere, because thousands of requests can fail for the same reason. It bypasses the response schemas, because the format of the scope guarantees its shape. */
export function render(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const error = toApiError(thrown);
  if (!error.outage && error.status >= 500) request.log.error({ err: thrown }, error.message);
  reply.header('x-request-id', request.id);
  // After a framing fault, it is not certain where the next request on this connection begins.
  if (findFramingFault(request.raw) !== undefined) reply.header('connection', 'close');
  const retryAfter = retryAfterOf(error, request);
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  // RFC 6585, 4. Set here, because the rate limit applies before the hooks that set headers.
  if (error.status === 429) reply.header('cache-control', 'no-store');
  const { status, headers = {}, body } = request.server.protocol.formatError(error, request);
  return reply
    .code(status)
    .headers(headers)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(body);
}

function retryAfterOf({ status, retryAfter }: ApiError, { routeOptions }: FastifyRequest): number | undefined {
  const { maxRetryAfter = Number.POSITIVE_INFINITY } = routeOptions?.config ?? {};
  return status === 503 && retryAfter !== undefined ? Math.min(retryAfter, maxRetryAfter) : retryAfter;
}

/** If the body was ignored, the client must correct the Content-Type, not the fields of the body. */
function withMediaType(error: ApiError, { hasIgnoredBody }: FastifyRequest): ApiError {
  if (!hasIgnoredBody || error.code !== 'INVALID_PAYLOAD') return error;
  const { reason } = error.extensions as { reason: string };
  return new ApiError('INVALID_PAYLOAD', {
    reason: `The body was ignored because it was sent without Content-Type: application/json. ${reason}`,
  });
}

/** The only place where errors become responses. */
export const errorsPlugin = definePlugin('http/errors', (_services, app) => {
  app.setErrorHandler(render);
  app.setNotFoundHandler((request) => {
    throw routeNotFound(request);
  });
});
