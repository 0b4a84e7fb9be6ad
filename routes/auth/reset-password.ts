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
          "Sets a new password, using the token from the email, and ends all of the user's sessions. The token works only once. Fails with `FAILED_VALIDATION` if the password is not acceptable.",
        body: ResetPasswordBody,
        response: {
          204: noContent('The password has been changed.'),
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
