import { errorResponses } from '../../schemas/errors.js';
import { RequestPasswordResetBody } from '../../schemas/password-reset.js';
import { type App, noContent } from '../app.js';

/** Operation 5 (contract 2.6). */
export function requestPasswordReset(app: App): void {
  app.post(
    '/password/request',
    {
      schema: {
        operationId: 'requestPasswordReset',
        tags: ['Authentication'],
        summary: 'Ask for a link to reset a password',
        description:
          'A link is sent to the address if an active user has it and logs in with a password. The answer does not tell, nor whether too many were asked for in the last minutes to send another.',
        body: RequestPasswordResetBody,
        response: { 204: noContent('The request was taken.'), ...errorResponses('FORBIDDEN') },
      },
    },
    async (request, reply) => {
      await app.passwordReset.request(request.body.email, request.body.reset_url, request.client);
      return reply.code(204).send();
    },
  );
}
