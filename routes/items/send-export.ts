import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ExportFormat, ListQuery } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import type { ReadRoutes } from './definition.js';

/** Sends the items that a query selects as a file. */
export async function sendExport(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  collection: ReadRoutes['collection'],
  query: Partial<ListQuery>,
  format: ExportFormat,
) {
  const { mediaType, fileName, text } = await app.exports.start(request.caller, collection, query, format, () =>
    request.checkCallerAgain(),
  );
  return reply
    .type(mediaType)
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .sendLong(text);
}
