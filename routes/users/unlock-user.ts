import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function unlockUser(app: App): void {
  app.post(
    '/:id/unlock',
    {
      config: {
        access: 'authenticated',
        scope: 'users:update',
        needs: { collection: 'users', action: 'update', fields: ['status'] },
        recordedAs: ['unlock', 'users'],
      },
      schema: {
        operationId: 'unlockUser',
        tags: ['Users'],
        summary: 'Unlock a user',
        description:
          "Resets the account's wrong-password counts for all networks, so that the user can log in again immediately. Administrators can call it, and so can users who have all of the rights that the user has and permission to update the user's `status`. You cannot unlock your own account. If the user is an administrator, your session must be fresh. This operation does not change `status`; to reactivate a suspended user, update `status` instead.",
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: {
          204: noContent('The account is unlocked.'),
          ...errorResponses('REAUTHENTICATION_REQUIRED', 'FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      await app.unlockUser(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
