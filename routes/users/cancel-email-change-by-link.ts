import { errorResponses } from '../../schemas/errors.js';
import { EmailConfirmBody } from '../../schemas/own-account.js';
import { type App, noContent } from '../app.js';

export function cancelEmailChangeByLink(app: App): void {
  app.post(
    '/me/email/cancel',
    {
      config: { access: 'anonymous', recordedAs: ['email_change_cancel', 'users'] },
      schema: {
        operationId: 'cancelEmailChangeByLink',
        tags: ['Own account'],
        summary: 'Cancel an email change by link',
        description:
          'Withdraws the pending change of address with the token from the notice to the old address. No login is required. The response is the same if no change is pending. Fails with `FORBIDDEN` when the address has already changed.',
        body: EmailConfirmBody,
        response: { 204: noContent('No change of address is pending.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.emailChanges.cancelByLink(request.body.token, request.client);
      return reply.code(204).send();
    },
  );
}
