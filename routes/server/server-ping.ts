import { errorResponses } from '../../schemas/errors.js';
import { Ping } from '../../schemas/server.js';
import type { App } from '../app.js';

export function serverPing(app: App): void {
  app.get(
    '/ping',
    {
      schema: {
        operationId: 'serverPing',
        tags: ['Server'],
        summary: 'See whether the service answers',
        description: 'Nothing else is looked at: for what the service needs there is /server/health.',
        response: {
          200: { description: 'The service answers.', content: { 'text/plain': { schema: Ping } } },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (_request, reply) => reply.type('text/plain; charset=utf-8').send('pong'),
  );
}
