import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function unlinkIdentity(app: App): void {
  app.delete(
    '/me/identities/:id',
    {
      config: { access: 'authenticated', requiresFresh: true, recordedAs: ['identity_unlink', 'identities'] },
      schema: {
        operationId: 'unlinkIdentity',
        tags: ['Providers'],
        summary: 'Unlink a provider account',
        description:
          'Unlinks the provider account, so that you can no longer sign in with it, and ends your other sessions. You cannot remove your only way to sign in.',
        params: Type.Object({ id: Uuid('Identifier of the identity.') }),
        response: {
          204: noContent('Unlinked.'),
          ...errorResponses('UNPROCESSABLE_CONTENT'),
        },
      },
    },
    async (request, reply) => {
      await app.identities.unlink(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
