import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';
import { checkedByTheDomain } from '../items/definition.js';

export function unlinkIdentity(app: App): void {
  app.delete(
    '/me/identities/:id',
    {
      schema: {
        operationId: 'unlinkIdentity',
        tags: ['Providers'],
        summary: 'Let an account at a provider log one in no more',
        description: 'The only way in cannot be taken away. The other sessions of the user end.',
        params: Type.Object({ id: Uuid('Identifier of the identity.') }),
        response: {
          204: noContent('It is gone.'),
          ...errorResponses('FORBIDDEN', 'UNPROCESSABLE_CONTENT'),
        },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      await app.identities.unlink(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
