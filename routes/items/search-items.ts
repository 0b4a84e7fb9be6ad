import { errorResponses } from '../../schemas/errors.js';
import type { App } from '../app.js';
import { itemSerializer, queryCheckedByTheDomain, type ReadRoutes } from './definition.js';

/** SEARCH of a collection: the query in the body, where it may be long (contract 3). */
export function searchItems(app: App, { collection, many, tag, schemas }: ReadRoutes): void {
  app.route({
    method: 'SEARCH',
    url: '/',
    schema: {
      operationId: `search${many}`,
      tags: [tag],
      summary: `List ${collection}, by a query in the body`,
      description: 'The same as by the parameters of a URL, for queries that are too long for one.',
      body: schemas.searchBody,
      response: {
        200: { ...schemas.queryResponse, description: `The ${collection}.` },
        ...errorResponses('INVALID_QUERY', 'FORBIDDEN'),
      },
    },
    serializerCompiler: itemSerializer,
    validatorCompiler: queryCheckedByTheDomain,
    handler: async (request) =>
      app.items.list(request.caller, collection, (request.body as { query?: object }).query ?? {}),
  });
}
