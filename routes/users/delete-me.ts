import { errorResponses } from '../../schemas/errors.js';
import { clearedCookieHeaders } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';

export function deleteMe(app: App): void {
  app.delete(
    '/me',
    {
      config: { access: 'authenticated', requiresFresh: true, isSelfService: true, recordedAs: ['delete', 'users'] },
      schema: {
        operationId: 'deleteMe',
        tags: ['Own account'],
        summary: 'Delete your account',
        description:
          'Deletes your account and everything that belongs to it. The audit log keeps the records of your actions. Fails with `FORBIDDEN` if the setting `self_deletion` is turned off, and with `UNPROCESSABLE_CONTENT` if you are the last administrator.',
        response: {
          204: { ...noContent('The account has been deleted.'), headers: clearedCookieHeaders },
          ...errorResponses('UNPROCESSABLE_CONTENT'),
        },
      },
    },
    async (request, reply) => {
      await app.ownAccount.remove(request.currentUser);
      reply.clearSessionCookie();
      return reply.code(204).send();
    },
  );
}
