import { errorResponses } from '../../schemas/errors.js';
import { SettingsQuery, SettingsResponse } from '../../schemas/settings.js';
import type { App } from '../app.js';

export function readSettings(app: App): void {
  app.get(
    '/',
    {
      config: { access: 'permission', scope: 'settings:read', needs: { collection: 'settings', action: 'read' } },
      schema: {
        operationId: 'readSettings',
        tags: ['Settings'],
        summary: 'Read the settings',
        description: 'Returns the settings that you can read. `GET /server/info` returns the public ones.',
        querystring: SettingsQuery,
        response: {
          200: { ...SettingsResponse, description: 'The settings.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
    },
    async (request) => ({ data: await app.settings.read(request.caller, request.query.fields) }),
  );
}
