import { errorResponses } from '../../schemas/errors.js';
import { SessionsResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function listMySessions(app: App): void {
  app.get(
    '/me/sessions',
    {
      config: { access: 'authenticated' },
      schema: {
        operationId: 'listMySessions',
        tags: ['Sessions'],
        summary: 'List your sessions',
        description:
          'Returns up to 1000 of your active sessions, most recently used first. If you use a static token, no session is marked as current.',
        response: { 200: { ...SessionsResponse, description: 'The sessions.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.activeSessions.listOwn(request.currentUser) }),
  );
}
