import { errorResponses } from '../../schemas/errors.js';
import { DeleteBody } from '../../schemas/item-requests.js';
import { type App, noContent } from '../app.js';
import { type CollectionRoutes, configOf, deadlineOfWrites } from './definition.js';

/** DELETE of many items. */
export function deleteItems(app: App, definition: CollectionRoutes): void {
  const { collection, many, tag, schemas, errors } = definition;
  app.delete(
    '/',
    {
      config: { ...configOf(definition, 'delete'), deadline: deadlineOfWrites },
      schema: {
        operationId: `delete${many}`,
        tags: [tag],
        summary: `Delete many ${collection}`,
        description:
          'Deletes the items with the given keys, or the items that a query selects. Either all of them are deleted, or none.',
        body: DeleteBody,
        documented: { body: schemas.deleteBody },
        response: { 204: noContent('Deleted.'), ...errorResponses(...errors.remove) },
      },
    },
    async (request, reply) => {
      await app.mutations.removeMany(request.caller, collection, request.body);
      return reply.code(204).send();
    },
  );
}
