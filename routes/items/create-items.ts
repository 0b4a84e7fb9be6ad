import { Type } from '@sinclair/typebox';
import { errorResponses, writeErrors } from '../../schemas/errors.js';
import { ItemQuery, ItemResponse, ListResponse } from '../../schemas/query.js';
import { type App, noContent, optionalCredential } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, deadlineOfWrites, itemSerializer } from './definition.js';

/** POST of one or many (operations 9 and 12; contract 2.9). */
export function createItems(app: App, { collection, many, tag, item, input }: CollectionRoutes): void {
  app.post(
    '/',
    {
      config: { deadline: deadlineOfWrites },
      schema: {
        operationId: `create${many}`,
        tags: [tag],
        summary: `Create one or many ${collection}`,
        description:
          'An object makes one, a list (or `{"data": […]}`) many: all of them or none. What the caller may not read of it is left out of the answer.',
        security: optionalCredential,
        querystring: ItemQuery,
        body: Type.Union([
          input,
          Type.Array(input),
          Type.Object({ data: Type.Array(input) }, { additionalProperties: false }),
        ]),
        response: {
          200: {
            ...Type.Union([ItemResponse(item), ListResponse(item)]),
            description: 'What was created, as it stands now.',
          },
          204: noContent('It was created, and the caller may not read it.'),
          ...errorResponses(...writeErrors),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const written = await app.mutations.create(request.caller, collection, request.body, request.query);
      return written ?? reply.code(204).send();
    },
  );
}
