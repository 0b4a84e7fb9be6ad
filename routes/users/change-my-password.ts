import { errorResponses } from '../../schemas/errors.js';
import { ChangeMyPasswordBody } from '../../schemas/users.js';
import { type App, noContent } from '../app.js';

/** The password of the caller. */
export function changeMyPassword(app: App): void {
  app.post(
    '/me/password',
    {
      config: { requiresSession: true },
      schema: {
        operationId: 'changeMyPassword',
        tags: ['Users'],
        summary: 'Change your password',
        description:
          'Ends your other sessions. Requires no permission, but a fresh session or, for users without two-factor authentication, `current_password`. A wrong `current_password` counts like a failed attempt to log in.',
        body: ChangeMyPasswordBody,
        response: {
          204: noContent('The password is changed.'),
          ...errorResponses('REAUTHENTICATION_REQUIRED', 'FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      const { password, current_password: currentPassword } = request.body;
      await app.changePassword(request.currentUser, password, currentPassword);
      return reply.code(204).send();
    },
  );
}
