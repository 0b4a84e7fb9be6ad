import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

/** For users who have lost their authenticator app and their recovery codes. */
export function disableTfaOfUser(app: App): void {
  app.post(
    '/:id/tfa/disable',
    {
      config: {
        access: 'authenticated',
        scope: 'users:update',
        needs: { collection: 'users', action: 'update', fields: ['tfa_secret'] },
        recordedAs: ['tfa_disable', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'disableTfaOfUser',
        tags: ['Two-factor authentication'],
        summary: "Turn off a user's two-factor authentication",
        description:
          "Turns off two-factor authentication for the user and ends all of the user's sessions. Administrators can call it, and so can users who have all of the rights that the user has and permission to update the user's `tfa_secret`. If the user is an administrator, your session must be fresh. For your own account, use `POST /users/me/tfa/disable` instead.",
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: {
          204: noContent('Two-factor authentication is turned off.'),
          ...errorResponses('REAUTHENTICATION_REQUIRED', 'FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      await app.disableTwoFactor(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
