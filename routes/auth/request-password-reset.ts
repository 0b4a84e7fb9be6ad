import { errorResponses } from '../../schemas/errors.js';
import { RequestPasswordResetBody } from '../../schemas/password-reset.js';
import { type App, noContent } from '../app.js';

export function requestPasswordReset(app: App): void {
  app.post(
    '/password/request',
    {
      config: { access: 'anonymous', recordedAs: ['password_reset_request', 'users'], acceptsUnknownKeys: true },
      schema: {
        operationId: 'requestPasswordReset',
        tags: ['Authentication'],
        summary: 'Request a password reset',
        description:
          'Sends a password reset link to the address if it belongs to an active user who logs in with a password. The response is always the same, even if the address is unknown or too many links were requested recently.',
        body: RequestPasswordResetBody,
        response: { 204: noContent('The request was accepted.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      const { principal, client, body } = request;
      await app.passwordReset.request(body.email, body.reset_url, principal ?? { userId: null, client });
      return reply.code(204).send();
    },
  );
}
