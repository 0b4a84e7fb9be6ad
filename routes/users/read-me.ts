import { errorResponses } from '../../schemas/errors.js';
import { userSchemas } from '../../schemas/users.js';
import type { App } from '../app.js';
import { checkedByTheDomain, itemSerializer } from '../items/definition.js';

/** Operation 18 (contract 2.8). */
export function readMe(app: App): void {
  app.get(
    '/me',
    {
      config: { readsOwnRow: true },
      schema: {
        operationId: 'readMe',
        tags: ['Users'],
        summary: 'Read the current user',
        description:
          'The user behind the token. Who may not read themselves, or one of the fields that they ask for, gets their `id` alone.',
        querystring: userSchemas.itemQuery,
        response: {
          200: { ...userSchemas.response, description: 'The current user.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request) => app.users.readMe(request.currentUser, request.query ?? {}),
  );
}
