import { errorResponses } from '../../schemas/errors.js';
import { DeleteBody } from '../../schemas/item-requests.js';
import { type App, noContent, sendWritten } from '../app.js';
import { type CollectionRoutes, configOf, nounsOf, writeTimeoutMs } from './definition.js';

/** DELETE: deletes many items. */
export function deleteItems(app: App, definition: CollectionRoutes): void {
  const { collection, many, tag, schemas, errors } = definition;
  const noun = nounsOf(definition);
  app.delete(
    '/',
    {
      config: { ...configOf(definition, 'deleteMany'), timeoutMs: writeTimeoutMs },
      schema: {
        operationId: `delete${many}`,
        tags: [tag],
        summary: `Delete multiple ${noun.many}`,
        description: `Deletes the ${noun.many} with the given IDs, or the ${noun.many} that a query selects. If any ${noun.one} cannot be deleted, none are.`,
        body: DeleteBody,
        documented: { body: schemas.deleteBody },
        response: {
          200: { ...schemas.deleteResponse, description: `A dry run: the ${noun.many} that would be deleted.` },
          204: noContent('Deleted.'),
          ...errorResponses(...errors.remove),
        },
      },
    },
    async (request, reply) => {
      return sendWritten(reply, await app.mutations.removeMany(request.caller, collection, request.body));
    },
  );
}
