import { Type } from '@sinclair/typebox';
import { errorResponses, writeErrors } from '../../schemas/errors.js';
import { ItemQuery, ListQuery, ListResponse } from '../../schemas/query.js';
import { type App, noContent, optionalCredential } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, deadlineOfWrites, itemSerializer } from './definition.js';

/** PATCH of many (operation 11; contract 2.10). */
export function updateItems(app: App, { collection, many, tag, item, input, key }: CollectionRoutes): void {
  const data = Type.Partial(input);
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
        security: optionalCredential,
        querystring: ItemQuery,
        body: Type.Union([
          Type.Object({ keys: Type.Array(key), data }, { additionalProperties: false }),
          Type.Object({ query: ListQuery, data }, { additionalProperties: false }),
          Type.Array(Type.Intersect([Type.Object({ id: key }), data])),
        ]),
        response: {
          200: { ...ListResponse(item), description: 'The items as they stand now.' },
          204: noContent('They were updated, and the caller may not read them.'),
          ...errorResponses('UNPROCESSABLE_CONTENT', ...writeErrors),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const written = await app.mutations.updateMany(request.caller, collection, request.body, request.query);
      return written ?? reply.code(204).send();
    },
  );
}
