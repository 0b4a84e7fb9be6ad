import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function unlinkIdentity(app: App): void {
  app.delete(
    '/me/identities/:id',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        refusesManagedUsers: true,
        recordedAs: ['identity_unlink', 'identities'],
      },
      schema: {
        operationId: 'unlinkIdentity',
        tags: ['Providers'],
        summary: 'Unlink a provider account',
        description:
          'Unlinks a provider account, so that you can no longer log in with it, and ends your other sessions. Fails with `UNPROCESSABLE_CONTENT` if it is your only way to log in.',
        params: Type.Object({ id: Uuid('The ID of the linked account.') }),
        response: {
          204: noContent('The provider account has been unlinked.'),
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
