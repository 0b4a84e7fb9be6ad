import { errorResponses } from '../../schemas/errors.js';
import { userSchemas, userWriteErrors } from '../../schemas/users.js';
import { type App, noContent } from '../app.js';
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
        querystring: userSchemas.itemQuery,
        body: userSchemas.updateBody,
        response: {
          200: { ...userSchemas.response, description: 'The current user as it stands now.' },
          204: noContent('It was updated, and the caller may not read it.'),
          ...errorResponses(...userWriteErrors.update),
        },
      },
      serializerCompiler: itemSerializer,
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const { currentUser, body, query } = request;
      const written = await app.mutations.updateOne(currentUser, 'users', currentUser.userId, body, query ?? {});
      return written ?? reply.code(204).send();
    },
  );
}
