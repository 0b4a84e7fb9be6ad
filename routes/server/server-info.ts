import { errorResponses } from '../../schemas/errors.js';
import { ServerInfoResponse } from '../../schemas/server.js';
import type { App } from '../app.js';

export function serverInfo(app: App): void {
  app.get(
    '/info',
    {
      config: { access: 'anonymous' },
      schema: {
        operationId: 'serverInfo',
        tags: ['Server'],
        summary: 'Read the public settings',
        description:
          'Returns the settings that a page needs before login: the name, color, logo, and language of the project, and whether users can register.',
        response: {
          200: { ...ServerInfoResponse, description: 'The public settings.' },
          ...errorResponses(),
        },
      },
    },
    async () => ({ data: await app.health.info() }),
  );
}
