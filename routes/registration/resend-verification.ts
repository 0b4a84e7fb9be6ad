import { errorResponses } from '../../schemas/errors.js';
import { ResendVerificationBody } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

export function resendVerification(app: App): void {
  app.post(
    '/register/resend',
    {
      config: { access: 'anonymous', recordedAs: ['verification_resend', 'users'] },
      schema: {
        operationId: 'resendVerification',
        tags: ['Registration'],
        summary: 'Resend the verification email',
        description:
          'Resends the verification email for the latest registration of an address, if the address is still waiting for verification. Links in earlier emails remain valid. The response is always the same, even if the address is unknown or too many emails were requested.',
        body: ResendVerificationBody,
        response: { 204: noContent('The request was accepted.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.registration.resend(request.body.email, request.client);
      return reply.code(204).send();
    },
  );
}
