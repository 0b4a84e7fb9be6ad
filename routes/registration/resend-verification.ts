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
          'Sends the email of the latest registration of an address again, if the address is waiting for verification. Links in earlier emails remain valid. The response is the same for all addresses, and also when too many emails were requested.',
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
