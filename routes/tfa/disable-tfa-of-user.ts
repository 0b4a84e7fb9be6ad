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
        needs: { collection: 'users', action: 'update', fields: ['tfa_secret'] },
        recordedAs: ['tfa_disable', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'disableTfaOfUser',
        tags: ['Two-factor authentication'],
        summary: 'Turn off two-factor authentication of a user',
        description:
          'Available to administrators, and to callers who can update `tfa_secret` of the user if the user has no rights that the caller lacks. Ends all sessions of the user. If the user is an administrator, the session of the caller must be fresh. For your own account, use `POST /users/me/tfa/disable`.',
        params: Type.Object({ id: Uuid('Identifier of the user.') }),
        response: {
          204: noContent('Two-factor authentication is off.'),
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
