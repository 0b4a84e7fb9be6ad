import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, deadlineOfWrites } from './definition.js';

/** DELETE of many (operation 10; contract 2.11). */
export function deleteItems(app: App, { collection, many, tag, schemas, errors }: CollectionRoutes): void {
  app.delete(
    '/',
    {
      config: { deadline: deadlineOfWrites },
      schema: {
        operationId: `delete${many}`,
        tags: [tag],
        summary: `Delete many ${collection}`,
        description: 'Those with these keys, or those that a query selects: all of them or none.',
        body: schemas.deleteBody,
        response: { 204: noContent('They are deleted.'), ...errorResponses(...errors.remove) },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      await app.mutations.removeMany(request.caller, collection, request.body);
      return reply.code(204).send();
    },
  );
}
