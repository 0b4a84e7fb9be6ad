import { errorResponses } from '../../schemas/errors.js';
import { CreateBody, ItemQuery } from '../../schemas/item-requests.js';
import { type App, noContent, sendWritten } from '../app.js';
import {
  type CollectionRoutes,
  configOf,
  isForAdministrators,
  itemSerializer,
  nounsOf,
  writeTimeoutMs,
} from './definition.js';

/** POST: creates one or many items. */
export function createItems(app: App, definition: CollectionRoutes): void {
  const { collection, many, tag, schemas, errors, created } = definition;
  const noun = nounsOf(definition);
  const unseen = isForAdministrators(definition, 'create')
    ? {}
    : { 204: noContent('Created, but you cannot read the result.') };
  app.post(
    '/',
    {
      config: { ...configOf(definition, 'create'), timeoutMs: writeTimeoutMs },
      schema: {
        operationId: `create${many}`,
        tags: [tag],
        summary: `Create one or more ${noun.many}`,
        description: `Creates one ${noun.one} from an object, or several ${noun.many} from a list (or \`{"data": […]}\`). If any ${noun.one} cannot be created, none are. The response contains only what you can read.${created ? ` ${created}` : ''}`,
        querystring: ItemQuery,
        body: CreateBody,
        documented: { querystring: schemas.itemQuery, body: schemas.createBody },
        response: {
          200: { ...schemas.createResponse, description: `The created ${noun.many}.` },
          ...unseen,
          ...errorResponses(...errors.create),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) => {
      return sendWritten(reply, await app.mutations.create(request.caller, collection, request.body, request.query));
    },
  );
}
