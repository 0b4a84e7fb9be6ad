import { errorResponses } from '../../schemas/errors.js';
import { CreateBody, ItemQuery } from '../../schemas/item-requests.js';
import { type App, noContent } from '../app.js';
import {
  type CollectionRoutes,
  configOf,
  deadlineOfWrites,
  isForAdministrators,
  itemSerializer,
} from './definition.js';

/** POST: creates one or many items. */
export function createItems(app: App, definition: CollectionRoutes): void {
  const { collection, many, tag, schemas, errors } = definition;
  const unseen = isForAdministrators(definition, 'create')
    ? {}
    : { 204: noContent('Created. You cannot read the result.') };
  app.post(
    '/',
    {
      config: { ...configOf(definition, 'create'), deadline: deadlineOfWrites },
      schema: {
        operationId: `create${many}`,
        tags: [tag],
        summary: `Create one or many ${collection}`,
        description:
          'Creates one item from an object, or several from a list (or `{"data": […]}`). Either all of them are created, or none. The response contains only what you can read.',
        querystring: ItemQuery,
        body: CreateBody,
        documented: { querystring: schemas.itemQuery, body: schemas.createBody },
        response: {
          200: { ...schemas.createResponse, description: 'The created items.' },
          ...unseen,
          ...errorResponses(...errors.create),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) => {
      const written = await app.mutations.create(request.caller, collection, request.body, request.query);
      return written ?? reply.code(204).send();
    },
  );
}
