import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { QueryInput } from '../../db/query-language/query.js';
import type { ExportFormat } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import type { ReadRoutes } from './definition.js';

/** Milliseconds that the client may take to read a part, so that a client that has stopped reading does not keep its export. */
const stallTimeoutMs = 60_000;

/** Sends the items that a query selects as a file, as fast as the client reads it. */
export async function sendExport(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  collection: ReadRoutes['collection'],
  input: QueryInput,
  format: ExportFormat,
) {
  const { caller } = request;
  const { mediaType, fileName, text } = await app.exports.start(caller, collection, input, format, () =>
    request.checkCallerAgain(),
  );
  reply
    .type(mediaType)
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${fileName}"`);
  if (request.method === 'HEAD') {
    await text.return(undefined);
    return reply.send('');
  }
  return reply.send(Readable.from(complete(request, reply, text)));
}

/**
 * The same text. If it ends early, the connection is reset, so that no client and no proxy takes what it has received for the complete
 * file. (A client of HTTP/1.0 would recognize nothing else.)
 */
async function* complete(request: FastifyRequest, reply: FastifyReply, text: AsyncGenerator<string>) {
  const { socket } = request.raw;
  try {
    for await (const part of text) {
      const timer = setTimeout(() => socket.resetAndDestroy(), stallTimeoutMs).unref();
      try {
        yield part;
      } finally {
        clearTimeout(timer);
      }
    }
  } catch (error) {
    request.log.warn({ err: error }, 'an export ended early');
    reply.raw.destroy();
    socket.resetAndDestroy?.();
    throw error;
  }
}
