import { Type } from '@sinclair/typebox';
import { errorResponses, writeErrors } from '../../schemas/errors.js';
import { ItemQuery, ItemResponse } from '../../schemas/query.js';
import { type App, noContent, optionalCredential } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, itemSerializer } from './definition.js';

/** PATCH of one (operation 15; contract 2.10). */
export function updateItem(app: App, { collection, one, tag, item, input, key }: CollectionRoutes): void {
  app.patch(
    '/:id',
    {
      schema: {
        operationId: `update${one}`,
        tags: [tag],
        summary: `Update one of the ${collection}`,
        description: 'Only the fields that are given change.',
        security: optionalCredential,
        params: Type.Object({ id: key }),
        querystring: ItemQuery,
        body: Type.Partial(input),
        response: {
          200: { ...ItemResponse(item), description: 'The item as it stands now.' },
          204: noContent('It was updated, and the caller may not read it.'),
          ...errorResponses('UNPROCESSABLE_CONTENT', ...writeErrors),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const { id } = request.params;
      const written = await app.mutations.updateOne(
        request.caller,
        collection,
        String(id),
        request.body,
        request.query,
      );
      return written ?? reply.code(204).send();
    },
  );
}
