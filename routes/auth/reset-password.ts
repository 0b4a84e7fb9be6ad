import { errorResponses } from '../../schemas/errors.js';
import { ResetPasswordBody } from '../../schemas/password-reset.js';
import { type App, noContent } from '../app.js';

/** Operation 6 (contract 2.7). */
export function resetPassword(app: App): void {
  app.post(
    '/password/reset',
    {
      schema: {
        operationId: 'resetPassword',
        tags: ['Authentication'],
        summary: 'Set a new password with the token from a mail',
        description: 'The token works once. All sessions of the user end.',
        body: ResetPasswordBody,
        response: {
          204: noContent('The new password counts.'),
          ...errorResponses('FORBIDDEN', 'FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      await app.passwordReset.reset(request.body.token, request.body.password, request.client);
      return reply.code(204).send();
    },
  );
}
