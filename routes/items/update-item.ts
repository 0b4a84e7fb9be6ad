import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';
import {
  type CollectionRoutes,
  checkedByTheDomain,
  configOf,
  isForAdministrators,
  itemSerializer,
} from './definition.js';

/** PATCH of one item. */
export function updateItem(app: App, definition: CollectionRoutes): void {
  const { collection, one, tag, schemas, errors, key, updated } = definition;
  const unseen = isForAdministrators(definition, 'update')
    ? {}
    : { 204: noContent('Updated. You cannot read the result.') };
  app.patch(
    '/:id',
    {
      config: configOf(definition, 'update'),
      schema: {
        operationId: `update${one}`,
        tags: [tag],
        summary: `Update one ${one.toLowerCase()}`,
        description: `Changes only the given fields.${updated ? ` ${updated.description}` : ''}`,
        params: Type.Object({ id: key }),
        querystring: schemas.itemQuery,
        body: schemas.updateBody,
        response: {
          200: { ...(updated?.response ?? schemas.response), description: 'The updated item.' },
          ...unseen,
          ...errorResponses(...errors.update),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const { id } = request.params;
      const written = await app.mutations.updateOne(
        request.caller,
        collection,
        String(id),
        request.body,
        request.query ?? {},
      );
      const completed = updated ? await updated.complete(request as FastifyRequest, String(id), written) : written;
      return completed ?? reply.code(204).send();
    },
  );
}
