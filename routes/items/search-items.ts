import { errorResponses } from '../../schemas/errors.js';
import { QueryResponse, SearchBody } from '../../schemas/query.js';
import { type App, optionalCredential } from '../app.js';
import { type CollectionRoutes, itemSerializer, queryCheckedByTheDomain } from './definition.js';

/** SEARCH of a collection: the query in the body, where it may be long (contract 3). */
export function searchItems(app: App, { collection, many, tag, item }: CollectionRoutes): void {
  app.route({
    method: 'SEARCH',
    url: '/',
    schema: {
      operationId: `search${many}`,
      tags: [tag],
      summary: `List ${collection}, by a query in the body`,
      security: optionalCredential,
      body: SearchBody,
      response: {
        200: { ...QueryResponse(item), description: `The ${collection}.` },
        ...errorResponses('INVALID_QUERY', 'FORBIDDEN'),
      },
    },
    serializerCompiler: itemSerializer,
    validatorCompiler: queryCheckedByTheDomain,
    handler: async (request) => app.items.list(request.caller, collection, request.body.query ?? {}),
  });
}
