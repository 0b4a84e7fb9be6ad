import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, itemSerializer } from './definition.js';

/** PATCH of one (operation 15; contract 2.10). */
export function updateItem(app: App, definition: CollectionRoutes): void {
  const { collection, one, tag, schemas, errors, key, isWrittenByAdministrators } = definition;
  const unseen = isWrittenByAdministrators ? {} : { 204: noContent('It was updated, and the caller may not read it.') };
  app.patch(
    '/:id',
    {
      schema: {
        operationId: `update${one}`,
        tags: [tag],
        summary: `Update one of the ${collection}`,
        description: 'Only the fields that are given change.',
        params: Type.Object({ id: key }),
        querystring: schemas.itemQuery,
        body: schemas.updateBody,
        response: {
          200: { ...schemas.response, description: 'The item as it stands now.' },
          ...unseen,
          ...errorResponses(...errors.update),
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
        request.query ?? {},
      );
      return written ?? reply.code(204).send();
    },
  );
}
