import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import { configOf, itemSerializer, nounsOf, type ReadRoutes } from './definition.js';

/** GET: reads one item. */
export function readItem(app: App, definition: ReadRoutes): void {
  const { collection, one, tag, schemas, key } = definition;
  const noun = nounsOf(definition).one;
  app.get(
    '/:id',
    {
      config: configOf(definition, 'read'),
      schema: {
        operationId: `read${one}`,
        tags: [tag],
        summary: `Read one ${noun}`,
        description: `Returns the ${noun} with the given ID. Fails with \`FORBIDDEN\` if the ${noun} does not exist, or if you do not have permission to read that ${noun}.`,
        params: Type.Object({ id: key }),
        querystring: ItemQuery,
        documented: { querystring: schemas.itemQuery },
        response: {
          200: { ...schemas.response, description: `The ${noun}.` },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request) => app.items.read(request.caller, collection, request.params.id, request.query),
  );
}
