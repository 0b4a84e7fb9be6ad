import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';
import { type CollectionRoutes, checkedByTheDomain, deadlineOfWrites, itemSerializer } from './definition.js';

/** POST of one or many (operations 9 and 12; contract 2.9). */
export function createItems(app: App, definition: CollectionRoutes): void {
  const { collection, many, tag, schemas, errors, isWrittenByAdministrators } = definition;
  const unseen = isWrittenByAdministrators ? {} : { 204: noContent('It was created, and the caller may not read it.') };
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
        querystring: schemas.itemQuery,
        body: schemas.createBody,
        response: {
          200: { ...schemas.createResponse, description: 'What was created, as it stands now.' },
          ...unseen,
          ...errorResponses(...errors.create),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const written = await app.mutations.create(request.caller, collection, request.body, request.query ?? {});
      return written ?? reply.code(204).send();
    },
  );
}
