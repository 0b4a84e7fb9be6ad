import { errorResponses } from '../../schemas/errors.js';
import { ChangeMyPasswordBody } from '../../schemas/users.js';
import { type App, noContent } from '../app.js';

export function changeMyPassword(app: App): void {
  app.post(
    '/me/password',
    {
      config: {
        access: 'authenticated',
        credentials: ['session'],
        refusesManagedUsers: true,
        recordedAs: ['password_change', 'users'],
      },
      schema: {
        operationId: 'changeMyPassword',
        tags: ['Users'],
        summary: 'Change your password',
        description:
          'Changes your password and ends your other sessions. Requires a fresh session or, if you do not use two-factor authentication, `current_password`. Requires no permission. If you log in through a provider, you can then also log in with the password. A wrong `current_password` counts as a failed login attempt.',
        body: ChangeMyPasswordBody,
        response: {
          204: noContent('The password has been changed.'),
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
