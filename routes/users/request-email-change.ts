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
          'Emails a confirmation link to the new address. Emails a notice to the old address, with a link that cancels the change. Your address changes when you confirm the new one. A newer request replaces an older one. The response is the same if the address is taken; its owner then gets an email that says so. Requesting your current address sends no email.',
        body: EmailChangeBody,
        response: { 204: noContent('The request is accepted.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.emailChanges.request(request.currentUser, request.body.email);
      return reply.code(204).send();
    },
  );
}
