import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery } from '../../schemas/item-requests.js';
import { roleSchemas } from '../../schemas/roles.js';
import type { App } from '../app.js';
import { itemSerializer } from '../items/definition.js';

export function readMyRoles(app: App): void {
  app.get(
    '/me',
    {
      config: { access: 'authenticated', scope: 'roles:read' },
      schema: {
        operationId: 'readMyRoles',
        tags: ['Roles'],
        summary: 'Read your roles',
        description:
          'Returns your role and all of its parent roles. If you do not have permission to read roles, the response contains only their IDs.',
        querystring: ItemQuery,
        documented: { querystring: roleSchemas.itemQuery },
        response: {
          200: { ...roleSchemas.listResponse, description: 'The roles.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request) => app.users.readMyRoles(request.currentUser, request.query),
  );
}
