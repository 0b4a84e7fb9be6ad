import { errorResponses } from '../../schemas/errors.js';
import { ResetPasswordBody } from '../../schemas/password-reset.js';
import { type App, noContent } from '../app.js';

export function resetPassword(app: App): void {
  app.post(
    '/password/reset',
    {
      config: { access: 'anonymous', recordedAs: ['password_reset', 'users'], acceptsUnknownKeys: true },
      schema: {
        operationId: 'resetPassword',
        tags: ['Authentication'],
        summary: 'Reset a password',
        description:
          'Sets a new password with the token from the email. The token works once. All sessions of the user end.',
        body: ResetPasswordBody,
        response: {
          204: noContent('The password is changed.'),
          ...errorResponses('FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      await app.passwordReset.reset(request.body.token, request.body.password, request.client);
      return reply.code(204).send();
    },
  );
}
