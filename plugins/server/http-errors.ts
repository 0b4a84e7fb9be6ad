import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';
import { pathOf } from './errors.js';
import { findFramingFault } from './request-framing.js';

const reasons: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
};

/** Answers what cannot even be read as HTTP, in the form of every other error, and hangs up. */
export function answerBrokenRequest(this: FastifyInstance, fault: Error & { code?: string }, socket: Duplex): void {
  // The peer is gone: nothing can be said any more.
  if (fault.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const reason = reasons[fault.code ?? ''] ?? 'This is not well-formed HTTP.';
  answerOnSocket(this, socket, new ApiError('INVALID_PAYLOAD', { reason }), { fault: fault.code });
}

/** Writes an error where there is no reply to write it to. */
function answerOnSocket(app: FastifyInstance, socket: Duplex, error: ApiError, facts: Record<string, unknown>): void {
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
  app.log.info({ reqId: id, status: error.status, ...facts }, 'request');
}

/** Answers like any other error what Node's HTTP server would answer by itself, with nothing in it, or not at all. */
export const httpFaultsPlugin = plugin(
  async (app) => {
    // The app is made with `requireHostHeader: false`, because what Node answers is no error of ours.
    app.addHook('onRequest', async (request) => {
      const reason = findFramingFault(request.raw);
      if (reason !== undefined) throw new ApiError('INVALID_PAYLOAD', { reason });
    });
    // An expectation that nobody knows may be passed over (RFC 9110, 10.1.1).
    app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      app.routing(request, response);
    });
    app.server.on('connect', ({ method, url = '' }: IncomingMessage, socket: Duplex) => {
      const path = pathOf(url);
      answerOnSocket(app, socket, new ApiError('ROUTE_NOT_FOUND', { path }), { method, path });
    });
  },
  { name: 'http-faults' },
);
