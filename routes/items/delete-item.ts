import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain } from './definition.js';

/** DELETE of one (operation 14; contract 2.11). */
export function deleteItem(app: App, { collection, one, tag, key, errors }: CollectionRoutes): void {
  app.delete(
    '/:id',
    {
      schema: {
        operationId: `delete${one}`,
        tags: [tag],
        summary: `Delete one of the ${collection}`,
        description: 'Whether it does not exist or may not be deleted, the answer is the same.',
        params: Type.Object({ id: key }),
        response: {
          204: noContent('It is deleted.'),
          ...errorResponses(...errors.remove.filter((code) => code !== 'INVALID_QUERY')),
        },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      await app.mutations.removeOne(request.caller, collection, String(request.params.id));
      return reply.code(204).send();
    },
  );
}
