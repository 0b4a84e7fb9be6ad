import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import type { App } from '../app.js';
import { checkedByTheDomain, itemSerializer, type ReadRoutes } from './definition.js';

/** GET of one item (operation 13; contract 2.8). */
export function readItem(app: App, { collection, one, tag, schemas, key }: ReadRoutes): void {
  app.get(
    '/:id',
    {
      schema: {
        operationId: `read${one}`,
        tags: [tag],
        summary: `Read one of the ${collection}`,
        description: 'Whether it does not exist or may not be read, the answer is the same.',
        params: Type.Object({ id: key }),
        querystring: schemas.itemQuery,
        response: {
          200: { ...schemas.response, description: 'The item.' },
          ...errorResponses('INVALID_QUERY', 'FORBIDDEN'),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request) => app.items.read(request.caller, collection, String(request.params.id), request.query ?? {}),
  );
}
