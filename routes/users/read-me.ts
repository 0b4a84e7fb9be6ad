import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery } from '../../schemas/item-requests.js';
import { userSchemas } from '../../schemas/users.js';
import type { App } from '../app.js';
import { itemSerializer } from '../items/definition.js';

export function readMe(app: App): void {
  app.get(
    '/me',
    {
      config: { access: 'authenticated', scope: 'users:read', readsOwnRow: true, beforeTfa: true },
      schema: {
        operationId: 'readMe',
        tags: ['Users'],
        summary: 'Read the current user',
        description:
          'Returns the user that the credential belongs to. If you do not have permission to read your own user record or one of the requested fields, the response contains only `id`.',
        querystring: ItemQuery,
        documented: { querystring: userSchemas.itemQuery },
        response: {
          200: { ...userSchemas.response, description: 'The current user.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request) => app.users.readMe(request.currentUser, request.query),
  );
}
