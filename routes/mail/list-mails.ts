import { errorResponses } from '../../schemas/errors.js';
import { ListMailsQuery, MailListResponse } from '../../schemas/mails.js';
import type { App } from '../app.js';

export function listMails(app: App): void {
  app.get(
    '/',
    {
      config: { access: 'authenticated', scope: 'mails:read', needs: 'administrator' },
      schema: {
        operationId: 'listMails',
        tags: ['Emails'],
        summary: 'List queued emails',
        description: 'Returns the queued emails, newest first. Requires administrator access.',
        querystring: ListMailsQuery,
        response: {
          200: { ...MailListResponse, description: 'The emails.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
    },
    async (request) => {
      const { state = null, limit = 100 } = request.query;
      return { data: await app.mail.list(request.currentUser, state, limit) };
    },
  );
}
