import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function retryMail(app: App): void {
  app.post(
    '/:id/retry',
    {
      config: {
        access: 'authenticated',
        scope: 'mails:update',
        needs: { collection: 'mails', action: 'update' },
        recordedAs: ['mail_retry', 'mails'],
      },
      schema: {
        operationId: 'retryMail',
        tags: ['Emails'],
        summary: 'Retry a failed email',
        description:
          'Puts a failed email back in the queue. Fails with `FORBIDDEN` if the email is still waiting or has been sent. Administrators can call it, and so can users who have permission to update `mails` and all of the rights of the user whom the email is for.',
        params: Type.Object({ id: Uuid('The ID of the email.') }),
        response: { 204: noContent('The email is back in the queue.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.mailsOfUsers.retry(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
