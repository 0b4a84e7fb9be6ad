import { Type } from '@sinclair/typebox';
import { errorResponses, writeErrors } from '../../schemas/errors.js';
import { ItemQuery, ItemResponse } from '../../schemas/query.js';
import { User, UserInput } from '../../schemas/users.js';
import { type App, anyCredential, noContent } from '../app.js';
import { checkedByTheDomain, itemSerializer } from '../items/definition.js';

/** Operation 19 (contract 2.10). */
export function updateMe(app: App): void {
  app.patch(
    '/me',
    {
      schema: {
        operationId: 'updateMe',
        tags: ['Users'],
        summary: 'Update the current user',
        description: 'A new password or e-mail address ends the other sessions of the user.',
        security: anyCredential,
        querystring: ItemQuery,
        body: Type.Partial(UserInput),
        response: {
          200: { ...ItemResponse(User), description: 'The current user as it stands now.' },
          204: noContent('It was updated, and the caller may not read it.'),
          ...errorResponses('UNPROCESSABLE_CONTENT', ...writeErrors),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const { currentUser, body, query } = request;
      const written = await app.mutations.updateOne(currentUser, 'users', currentUser.userId, body, query);
      return written ?? reply.code(204).send();
    },
  );
}
