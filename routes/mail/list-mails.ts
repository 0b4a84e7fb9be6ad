import { errorResponses } from '../../schemas/errors.js';
import { ListMailsQuery, MailListResponse } from '../../schemas/mails.js';
import type { App } from '../app.js';

export function listMails(app: App): void {
  app.get(
    '/',
    {
      config: { access: 'authenticated', scope: 'mails:read', needs: { collection: 'mails', action: 'read' } },
      schema: {
        operationId: 'listMails',
        tags: ['Emails'],
        summary: 'List queued emails',
        description:
          'Returns the queued emails that you can read, newest first. Administrators can read all of them. Users with permission to read `mails` can read the emails to users whose rights they have; emails for which only an address is known, either because it has no user or because no attempt has been made to send them yet, are only for administrators. Fields that you cannot read are omitted.',
        querystring: ListMailsQuery,
        response: {
          200: { ...MailListResponse, description: 'The emails.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
    },
    async (request) => {
      const { state = null, user = null, limit = 100 } = request.query;
      return { data: await app.mailsOfUsers.list(request.currentUser, { state, user, limit }) };
    },
  );
}
