import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function cancelEmailChange(app: App): void {
  app.delete(
    '/me/email',
    {
      config: { access: 'authenticated', credentials: ['session'], recordedAs: ['email_change_cancel', 'users'] },
      schema: {
        operationId: 'cancelEmailChange',
        tags: ['Own account'],
        summary: 'Cancel an email change',
        description: 'Cancels your pending email change. Also succeeds if no change is pending.',
        response: { 204: noContent('No email change is pending.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.emailChanges.cancel(request.currentUser);
      return reply.code(204).send();
    },
  );
}
