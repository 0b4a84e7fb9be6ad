import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, deadlineOfWrites, itemSerializer } from './definition.js';

/** PATCH of many (operation 11; contract 2.10). */
export function updateItems(app: App, { collection, many, tag, schemas, errors }: CollectionRoutes): void {
  app.patch(
    '/',
    {
      config: { deadline: deadlineOfWrites },
      schema: {
        operationId: `update${many}`,
        tags: [tag],
        summary: `Update many ${collection}`,
        description:
          'The same values for the items with these keys, or for those that a query selects; or a list of items, each with its id and values of its own. All are updated, or none.',
        querystring: schemas.itemQuery,
        body: schemas.updateManyBody,
        response: {
          200: { ...schemas.listResponse, description: 'The items as they stand now.' },
          204: noContent('They were updated, and the caller may not read them.'),
          ...errorResponses(...errors.update),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const written = await app.mutations.updateMany(request.caller, collection, request.body, request.query ?? {});
      return written ?? reply.code(204).send();
    },
  );
}
