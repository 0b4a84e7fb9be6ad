import { errorResponses } from '../../schemas/errors.js';
import { Ping } from '../../schemas/server.js';
import type { App } from '../app.js';

export function serverPing(app: App): void {
  app.get(
    '/ping',
    {
      config: { access: 'anonymous', isProbe: true },
      schema: {
        operationId: 'serverPing',
        tags: ['Server'],
        summary: 'Ping the service',
        description:
          'Checks only that the service responds. To check its database and other components, use `GET /server/health`.',
        response: {
          200: { description: 'The service responds.', content: { 'text/plain': { schema: Ping } } },
          ...errorResponses(),
        },
      },
    },
    async (_request, reply) => reply.type('text/plain; charset=utf-8').send('pong'),
  );
}
