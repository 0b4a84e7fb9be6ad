import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery, UpdateManyBody } from '../../schemas/item-requests.js';
import { type App, noContent } from '../app.js';
import {
  type CollectionRoutes,
  configOf,
  deadlineOfWrites,
  isForAdministrators,
  itemSerializer,
} from './definition.js';

/** PATCH of many items. */
export function updateItems(app: App, routes: CollectionRoutes): void {
  const { collection, many, tag, schemas, errors } = routes;
  const unseen = isForAdministrators(routes, 'update')
    ? {}
    : { 204: noContent('Updated. You cannot read the result.') };
  app.patch(
    '/',
    {
      config: { ...configOf(routes, 'update'), deadline: deadlineOfWrites },
      schema: {
        operationId: `update${many}`,
        tags: [tag],
        summary: `Update many ${collection}`,
        description:
          'Sets the same values on the items with the given keys, or on the items that a query selects. If the body is a list of items with their IDs, sets different values on each item. Either all of them are updated, or none.',
        querystring: ItemQuery,
        body: UpdateManyBody,
        documented: { querystring: schemas.itemQuery, body: schemas.updateManyBody },
        response: {
          200: { ...schemas.listResponse, description: 'The updated items.' },
          ...unseen,
          ...errorResponses(...errors.update),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) => {
      const written = await app.mutations.updateMany(request.caller, collection, request.body, request.query);
      return written ?? reply.code(204).send();
    },
  );
}
