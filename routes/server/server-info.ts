import { errorResponses } from '../../schemas/errors.js';
import { ServerInfoResponse } from '../../schemas/server.js';
import type { App } from '../app.js';

export function serverInfo(app: App): void {
  app.get(
    '/info',
    {
      schema: {
        operationId: 'serverInfo',
        tags: ['Server'],
        summary: 'Read the public settings of the project',
        description:
          'What a page needs before anyone has logged in: name, colour, logo, language, and whether one can register.',
        response: {
          200: { ...ServerInfoResponse, description: 'The public settings.' },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async () => ({ data: await app.health.info() }),
  );
}
