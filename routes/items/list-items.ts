import { errorResponses } from '../../schemas/errors.js';
import { ListQuery } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import { configOf, itemSerializer, listHeaders, nounsOf, type ReadRoutes, sendList } from './definition.js';

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
        description: `Returns the ${noun.many} that match the query and that you can read. With \`aggregate\`, returns the results of the aggregation instead.`,
        querystring: ListQuery,
        documented: { querystring: schemas.listQuery },
        response: {
          200: { ...schemas.queryResponse, description: `The ${noun.many}.`, headers: listHeaders },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) =>
      sendList(app, request, reply, await app.items.list(request.caller, collection, request.query)),
  );
}
