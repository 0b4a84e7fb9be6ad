import { errorResponses } from '../../schemas/errors.js';
import { roleSchemas } from '../../schemas/roles.js';
import type { App } from '../app.js';
import { checkedByTheDomain, itemSerializer } from '../items/definition.js';

/** The roles of the caller (contract 5). */
export function readMyRoles(app: App): void {
  app.get(
    '/me',
    {
      schema: {
        operationId: 'readMyRoles',
        tags: ['Roles'],
        summary: 'Read the roles of the current user',
        description: 'The role of the user and all above it. Who may not read roles gets their ids alone.',
        querystring: roleSchemas.itemQuery,
        response: {
          200: { ...roleSchemas.listResponse, description: 'The roles.' },
          ...errorResponses('INVALID_QUERY', 'FORBIDDEN'),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request) => app.users.readMyRoles(request.currentUser, request.query ?? {}),
  );
}
