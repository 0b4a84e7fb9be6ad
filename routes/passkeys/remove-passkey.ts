import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function removePasskey(app: App): void {
  app.delete(
    '/me/passkeys/:id',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        beforeTfa: true,
        isSelfService: true,
        recordedAs: ['passkey_remove', 'passkeys'],
      },
      schema: {
        operationId: 'removePasskey',
        tags: ['Passkeys'],
        summary: 'Remove a passkey',
        description:
          'Removes one of your passkeys, so that you can no longer log in with it, and ends your other sessions. Fails with `UNPROCESSABLE_CONTENT` if it is your only way to log in. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        params: Type.Object({ id: Uuid('The ID of the passkey.') }),
        response: {
          204: noContent('The passkey has been removed.'),
          ...errorResponses('UNPROCESSABLE_CONTENT', 'ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request, reply) => {
      await app.passkeys.remove(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
