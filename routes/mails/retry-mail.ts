import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function retryMail(app: App): void {
  app.post(
    '/:id/retry',
    {
      schema: {
        operationId: 'retryMail',
        tags: ['Mails'],
        summary: 'Send a mail again that was given up',
        description: 'For administrators. A mail that waits, or was sent, cannot be sent again: 403.',
        params: Type.Object({ id: Uuid('Identifier of the mail.') }),
        response: { 204: noContent('It is in the queue again.'), ...errorResponses('FORBIDDEN') },
      },
    },
    async (request, reply) => {
      await app.mail.retry(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
