import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent, sendWritten } from '../app.js';
import { type CollectionRoutes, configOf, nounsOf } from './definition.js';

/** DELETE: deletes one item. */
export function deleteItem(app: App, definition: CollectionRoutes): void {
  const { collection, one, tag, key, schemas, errors } = definition;
  const noun = nounsOf(definition).one;
  app.delete(
    '/:id',
    {
      config: configOf(definition, 'delete'),
      schema: {
        operationId: `delete${one}`,
        tags: [tag],
        summary: `Delete one ${noun}`,
        description: `Deletes the ${noun} with the given ID. Fails with \`FORBIDDEN\` if the ${noun} does not exist, or if you do not have permission to delete that ${noun}.`,
        params: Type.Object({ id: key }),
        response: {
          200: { ...schemas.deleteResponse, description: 'A dry run: the item that would be deleted.' },
          204: noContent('Deleted.'),
          ...errorResponses(...errors.remove.filter((code) => code !== 'INVALID_QUERY')),
        },
      },
    },
    async (request, reply) => {
      return sendWritten(reply, await app.mutations.removeOne(request.caller, collection, request.params.id));
    },
  );
}
