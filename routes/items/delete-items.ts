import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { ListQuery } from '../../schemas/query.js';
import { type App, noContent, optionalCredential } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, deadlineOfWrites } from './definition.js';

/** DELETE of many (operation 10; contract 2.11). */
export function deleteItems(app: App, { collection, many, tag, key }: CollectionRoutes): void {
  app.delete(
    '/',
    {
      config: { deadline: deadlineOfWrites },
      schema: {
        operationId: `delete${many}`,
        tags: [tag],
        summary: `Delete many ${collection}`,
        description: 'Those with these keys, or those that a query selects: all of them or none.',
        security: optionalCredential,
        body: Type.Union([
          Type.Array(key),
          Type.Object({ keys: Type.Array(key) }, { additionalProperties: false }),
          Type.Object({ query: ListQuery }, { additionalProperties: false }),
        ]),
        response: {
          204: noContent('They are deleted.'),
          ...errorResponses('INVALID_QUERY', 'FORBIDDEN', 'UNPROCESSABLE_CONTENT'),
        },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      await app.mutations.removeMany(request.caller, collection, request.body);
      return reply.code(204).send();
    },
  );
}
