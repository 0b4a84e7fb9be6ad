import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery, UpdateBody } from '../../schemas/item-requests.js';
import { ownSignInChanges, UserUpdateResponse, userSchemas, userWriteErrors } from '../../schemas/users.js';
import { type App, noContent, sendWritten } from '../app.js';
import { itemSerializer } from '../items/definition.js';

export function updateMe(app: App): void {
  app.patch(
    '/me',
    {
      config: {
        access: 'authenticated',
        scope: 'users:update',
        needs: { collection: 'users', action: 'update' },
        recordedAs: ['update', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'updateMe',
        tags: ['Users'],
        summary: 'Update the current user',
        description: [
          'Changes the given fields of your own user record. Changing your password or email address ends your other sessions.',
          ownSignInChanges.one,
        ].join(' '),
        querystring: ItemQuery,
        body: UpdateBody,
        documented: { querystring: userSchemas.itemQuery, body: userSchemas.updateBody },
        response: {
          200: { ...UserUpdateResponse, description: 'The updated user.' },
          204: noContent('Updated, but you cannot read the result.'),
          ...errorResponses(...userWriteErrors.update),
        },
      },
      serializerCompiler: itemSerializer,
    },
    async (request, reply) => {
      const { currentUser, body, query } = request;
      return sendWritten(reply, await app.mutations.updateOne(currentUser, 'users', currentUser.userId, body, query));
    },
  );
}
