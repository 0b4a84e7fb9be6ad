import { errorResponses } from '../../schemas/errors.js';
import { SearchBody } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import { configOf, itemSerializer, listHeaders, nounsOf, type ReadRoutes, sendList } from './definition.js';

/** SEARCH: lists the items of a collection. The query is in the body, where it can be longer than in a URL. */
export function searchItems(app: App, definition: ReadRoutes): void {
  const { collection, many, tag, schemas } = definition;
  const noun = nounsOf(definition);
  app.route({
    method: 'SEARCH',
    url: '/',
    config: configOf(definition, 'search'),
    schema: {
      operationId: `search${many}`,
      tags: [tag],
      summary: `Search ${noun.many}`,
      description: `Returns the same ${noun.many} as \`GET\`, but takes the query from the body. Use this operation for queries that are too long for a URL.`,
      body: SearchBody,
      documented: { body: schemas.searchBody },
      response: {
        200: { ...schemas.queryResponse, description: `The ${noun.many}.`, headers: listHeaders },
        ...errorResponses('INVALID_QUERY'),
      },
    },
    serializerCompiler: itemSerializer,
    handler: async (request, reply) => {
      const { query = {} } = request.body;
      return sendList(app, request, reply, await app.items.list(request.caller, collection, query));
    },
  });
}
