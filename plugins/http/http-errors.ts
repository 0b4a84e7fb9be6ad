import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import { definePlugin } from '../platform/plugin.js';
import { pathOf } from './request-parsing.js';
import { bodyTooSlow } from './request-timeout.js';

const reasons: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: bodyTooSlow,
};

/** Responds to malformed HTTP with an error in the usual format, and closes the connection. */
export function respondToMalformedRequest(
  this: FastifyInstance,
  fault: Error & { code?: string },
  socket: Duplex,
): void {
  // The client has disconnected.
  if (fault.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const reason = reasons[fault.code ?? ''] ?? 'The request is not well-formed HTTP.';
  answerOnSocket(this, socket, new ApiError('INVALID_PAYLOAD', { reason }), { fault: fault.code });
}

/** Writes an error directly to a socket, where Fastify has no reply. */
function answerOnSocket(
  app: Pick<FastifyInstance, 'log'>,
  socket: Duplex,
  error: ApiError,
  facts: Record<string, unknown>,
): void {
  const id = randomUUID();
  const body = JSON.stringify({ errors: [error.toEntry()] });
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${id}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  const ip = (socket as Partial<Socket>).remoteAddress;
  app.log.info({ reqId: id, status: error.status, ip, ...facts }, 'request');
}

/** Sends errors in the usual format where Node's HTTP server would send an empty response, or none. */
export const httpErrorsPlugin = definePlugin('http/http-errors', (_services, app) => {
  // A server may ignore an unknown expectation (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    app.routing(request, response);
  });
  app.server.on('connect', ({ method, url = '' }: IncomingMessage, socket: Duplex) => {
    const path = pathOf(url);
    answerOnSocket(app, socket, new ApiError('ROUTE_NOT_FOUND', { path }), { method, path });
  });
});
