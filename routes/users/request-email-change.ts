import { errorResponses } from '../../schemas/errors.js';
import { EmailChangeBody } from '../../schemas/own-account.js';
import { type App, noContent } from '../app.js';

export function requestEmailChange(app: App): void {
  app.post(
    '/me/email',
    {
      config: { requiresFresh: true, isSelfService: true },
      schema: {
        operationId: 'requestEmailChange',
        tags: ['Own account'],
        summary: 'Request a new address',
        description:
          'Sends an email with a link to the new address, and a notice to the old one with a link that cancels the change. Your address changes when the link is confirmed. A newer request replaces an older one. The response is the same when the address is taken; its owner then gets an email that says so. Requesting your current address sends no email.',
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
