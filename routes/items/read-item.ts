import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery } from '../../schemas/item-requests.js';
import type { App } from '../app.js';
import { configOf, itemSerializer, type ReadRoutes } from './definition.js';

/** GET of one item. */
export function readItem(app: App, definition: ReadRoutes): void {
  const { collection, one, tag, schemas, key } = definition;
  app.get(
    '/:id',
    {
      config: configOf(definition, 'read'),
      schema: {
        operationId: `read${one}`,
        tags: [tag],
        summary: `Read one ${one.toLowerCase()}`,
        description: 'Returns `FORBIDDEN` both for an item that does not exist and for one that you cannot read.',
        params: Type.Object({ id: key }),
        querystring: ItemQuery,
        documented: { querystring: schemas.itemQuery },
        response: {
          200: { ...schemas.response, description: 'The item.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request) => app.items.read(request.caller, collection, request.params.id, request.query),
  );
}
