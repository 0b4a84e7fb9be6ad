import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

/** For users who have lost a device. */
export function removePasskeyOfUser(app: App): void {
  app.delete(
    '/:id/passkeys/:passkey',
    {
      config: { access: 'authenticated', needs: 'administrator', recordedAs: ['passkey_remove', 'passkeys'] },
      schema: {
        operationId: 'removePasskeyOfUser',
        tags: ['Passkeys'],
        summary: "Remove a user's passkey",
        description:
          "Removes a passkey of the user and ends all of the user's sessions. Requires administrator access. If the user is an administrator, your session must be fresh. Fails with `UNPROCESSABLE_CONTENT` if the passkey is the user's only way to log in. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.",
        params: Type.Object({ id: Uuid('The ID of the user.'), passkey: Uuid('The ID of the passkey.') }),
        response: {
          204: noContent('The passkey has been removed.'),
          ...errorResponses('REAUTHENTICATION_REQUIRED', 'UNPROCESSABLE_CONTENT', 'ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request, reply) => {
      const { id, passkey } = request.params;
      await app.passkeys.removeOf(request.currentUser, id, passkey);
      return reply.code(204).send();
    },
  );
}
