import { errorResponses } from '../../schemas/errors.js';
import { SessionsResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function listMySessions(app: App): void {
  app.get(
    '/me/sessions',
    {
      schema: {
        operationId: 'listMySessions',
        tags: ['Sessions'],
        summary: 'List where one is signed in',
        description:
          'The sessions of the current user that have not ended, the latest used first; at most 1000. With a static token none of them is the current one.',
        response: { 200: { ...SessionsResponse, description: 'The sessions.' }, ...errorResponses('FORBIDDEN') },
      },
    },
    async (request) => ({ data: await app.openSessions.listOwn(request.currentUser) }),
  );
}
