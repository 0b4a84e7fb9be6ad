import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

/** For users who have lost access to an account at a provider, or whose account there was taken over. */
export function unlinkIdentityOfUser(app: App): void {
  app.delete(
    '/:id/identities/:identity',
    {
      config: { access: 'authenticated', needs: 'administrator', recordedAs: ['identity_unlink', 'identities'] },
      schema: {
        operationId: 'unlinkIdentityOfUser',
        tags: ['Providers'],
        summary: "Unlink a user's provider account",
        description:
          "Unlinks a provider account of the user, so that they can no longer log in with it, and ends all of the user's sessions. Requires administrator access. If the user is an administrator, your session must be fresh. Fails with `UNPROCESSABLE_CONTENT` if it is the user's only way to log in, and with `FORBIDDEN` if the user's provider determines their role.",
        params: Type.Object({ id: Uuid('The ID of the user.'), identity: Uuid('The ID of the linked account.') }),
        response: {
          204: noContent('The provider account has been unlinked.'),
          ...errorResponses('REAUTHENTICATION_REQUIRED', 'UNPROCESSABLE_CONTENT'),
        },
      },
    },
    async (request, reply) => {
      const { id, identity } = request.params;
      await app.identities.unlinkOf(request.currentUser, id, identity);
      return reply.code(204).send();
    },
  );
}
