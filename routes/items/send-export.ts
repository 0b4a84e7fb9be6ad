import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import type { ExportFormat, ListQuery } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import type { ReadRoutes } from './definition.js';

/** Sends the items that a query selects as a file. @throws {ApiError} INVALID_QUERY, FORBIDDEN, REQUESTS_EXCEEDED, SERVICE_UNAVAILABLE */
export async function sendExport(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  collection: ReadRoutes['collection'],
  query: Partial<ListQuery>,
  format: ExportFormat,
) {
  // The headers alone would cost as much as the file, and be recorded as an export.
  if (request.method === 'HEAD') throw new ApiError('INVALID_QUERY', { reason: 'export is only possible with GET' });
  const { mediaType, fileName, text } = await app.exports.start(request.caller, collection, query, format, () =>
    request.checkCallerAgain(),
  );
  return reply
    .type(mediaType)
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .sendLong(text);
}
