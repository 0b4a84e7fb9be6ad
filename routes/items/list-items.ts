import { errorResponses } from '../../schemas/errors.js';
import type { App } from '../app.js';
import { checkedByTheDomain, itemSerializer, type ReadRoutes } from './definition.js';

/** GET of a collection (operation 8; contract 2.8, 3). */
export function listItems(app: App, { collection, many, tag, schemas }: ReadRoutes): void {
  app.get(
    '/',
    {
      schema: {
        operationId: `list${many}`,
        tags: [tag],
        summary: `List ${collection}`,
        description:
          'Those that the caller may read and that match the query. With `aggregate`, rows of results instead.',
        querystring: schemas.listQuery,
        response: {
          200: { ...schemas.queryResponse, description: `The ${collection}.` },
          ...errorResponses('INVALID_QUERY', 'FORBIDDEN'),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request) => app.items.list(request.caller, collection, request.query ?? {}),
  );
}
