import { errorResponses } from '../../schemas/errors.js';
import type { App } from '../app.js';
import { checkedByTheDomain, configOf, itemSerializer, listHeaders, type ReadRoutes, sendList } from './definition.js';

/** GET of a collection. */
export function listItems(app: App, definition: ReadRoutes): void {
  const { collection, many, tag, schemas } = definition;
  app.get(
    '/',
    {
      config: configOf(definition, 'read'),
      schema: {
        operationId: `list${many}`,
        tags: [tag],
        summary: `List ${collection}`,
        description:
          'Returns the items that match the query and that you can read. With `aggregate`, returns the results of the aggregation instead.',
        querystring: schemas.listQuery,
        response: {
          200: { ...schemas.queryResponse, description: `The ${collection}.`, headers: listHeaders },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) =>
      sendList(app, request, reply, await app.items.list(request.caller, collection, request.query ?? {})),
  );
}
