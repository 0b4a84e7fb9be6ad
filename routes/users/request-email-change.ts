import { errorResponses } from '../../schemas/errors.js';
import { EmailChangeBody } from '../../schemas/own-account.js';
import { type App, noContent } from '../app.js';

export function requestEmailChange(app: App): void {
  app.post(
    '/me/email',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        isSelfService: true,
        recordedAs: ['email_change_request', 'users'],
      },
      schema: {
        operationId: 'requestEmailChange',
        tags: ['Own account'],
        summary: 'Request an email change',
        description:
          'Sends a confirmation link to the new address, and a notice with a cancellation link to the old address. Your address changes when you confirm the new one. A new request replaces an earlier one. The response is the same if the new address is already in use; in that case, the owner of that address is notified instead. No email is sent if you request your current address.',
        body: EmailChangeBody,
        response: { 204: noContent('The request was accepted.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.emailChanges.request(request.currentUser, request.body.email);
      return reply.code(204).send();
    },
  );
}
