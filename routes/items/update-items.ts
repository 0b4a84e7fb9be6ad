import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery, UpdateManyBody } from '../../schemas/item-requests.js';
import { type App, noContent, sendWritten } from '../app.js';
import {
  type CollectionRoutes,
  configOf,
  isForAdministrators,
  itemSerializer,
  nounsOf,
  writeTimeoutMs,
} from './definition.js';

/** PATCH: updates many items. */
export function updateItems(app: App, routes: CollectionRoutes): void {
  const { collection, many, tag, schemas, errors, updated } = routes;
  const noun = nounsOf(routes);
  const unseen = isForAdministrators(routes, 'update')
    ? {}
    : { 204: noContent('Updated, but you cannot read the result.') };
  app.patch(
    '/',
    {
      config: { ...configOf(routes, 'updateMany'), timeoutMs: writeTimeoutMs },
      schema: {
        operationId: `update${many}`,
        tags: [tag],
        summary: `Update multiple ${noun.many}`,
        description: `Sets the same values on all ${noun.many} that are listed in \`keys\` or selected by \`query\`. To set different values on each ${noun.one}, send a list of ${noun.many} with their IDs instead. If any ${noun.one} cannot be updated, none are.${updated ? ` ${updated.many.description}` : ''}`,
        querystring: ItemQuery,
        body: UpdateManyBody,
        documented: { querystring: schemas.itemQuery, body: schemas.updateManyBody },
        response: {
          200: { ...(updated?.many.response ?? schemas.listResponse), description: `The updated ${noun.many}.` },
          ...unseen,
          ...errorResponses(...errors.update),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) => {
      return sendWritten(
        reply,
        await app.mutations.updateMany(request.caller, collection, request.body, request.query),
      );
    },
  );
}
