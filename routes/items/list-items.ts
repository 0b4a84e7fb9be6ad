import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { CsvExport, ListRequest, NdjsonExport } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import { configOf, itemSerializer, listHeaders, nounsOf, type ReadRoutes, sendList } from './definition.js';
import { sendExport } from './send-export.js';

const exportHeaders = {
  'content-disposition': Type.String({
    description: 'The name of the file. Sent with `export`.',
    examples: ['attachment; filename="users-2026-01-31.csv"'],
  }),
};

/** GET: lists the items of a collection. */
export function listItems(app: App, definition: ReadRoutes): void {
  const { collection, many, tag, schemas } = definition;
  const noun = nounsOf(definition);
  app.get(
    '/',
    {
      config: configOf(definition, 'list'),
      schema: {
        operationId: `list${many}`,
        tags: [tag],
        summary: `List ${noun.many}`,
        description: `Returns the ${noun.many} that match the query and that you can read. With \`aggregate\`, returns the results of the aggregation instead. With \`export\`, returns the list as a file.`,
        querystring: ListRequest,
        documented: { querystring: schemas.listQuery },
        response: {
          200: {
            description: `The ${noun.many}.`,
            headers: { ...listHeaders, ...exportHeaders },
            content: {
              'application/json': { schema: schemas.queryResponse },
              'text/csv': { schema: CsvExport },
              'application/x-ndjson': { schema: NdjsonExport },
            },
          },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) => {
      const { export: format, ...query } = request.query;
      if (format !== undefined) return sendExport(app, request, reply, collection, query, format);
      return sendList(app, request, reply, await app.items.list(request.caller, collection, query));
    },
  );
}
