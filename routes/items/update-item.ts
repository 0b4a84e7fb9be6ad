import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery, UpdateBody } from '../../schemas/item-requests.js';
import { type App, noContent, sendWritten } from '../app.js';
import { type CollectionRoutes, configOf, isForAdministrators, itemSerializer, nounsOf } from './definition.js';

/** PATCH: updates one item. */
export function updateItem(app: App, definition: CollectionRoutes): void {
  const { collection, one, tag, schemas, errors, key, updated } = definition;
  const noun = nounsOf(definition).one;
  const unseen = isForAdministrators(definition, 'update')
    ? {}
    : { 204: noContent('Updated, but you cannot read the result.') };
  app.patch(
    '/:id',
    {
      config: configOf(definition, 'update'),
      schema: {
        operationId: `update${one}`,
        tags: [tag],
        summary: `Update one ${noun}`,
        description: `Changes the given fields of the ${noun}. Other fields remain unchanged.${updated ? ` ${updated.one.description}` : ''}`,
        params: Type.Object({ id: key }),
        querystring: ItemQuery,
        body: UpdateBody,
        documented: { querystring: schemas.itemQuery, body: schemas.updateBody },
        response: {
          200: { ...(updated?.one.response ?? schemas.response), description: `The updated ${noun}.` },
          ...unseen,
          ...errorResponses(...errors.update),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) => {
      const { caller, params, body, query } = request;
      return sendWritten(reply, await app.mutations.updateOne(caller, collection, params.id, body, query));
    },
  );
}
