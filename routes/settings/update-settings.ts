import { errorResponses } from '../../schemas/errors.js';
import { SettingsInput, SettingsQuery, SettingsResponse } from '../../schemas/settings.js';
import { type App, noContent, sendWritten } from '../app.js';

export function updateSettings(app: App): void {
  app.patch(
    '/',
    {
      config: {
        access: 'permission',
        scope: 'settings:update',
        needs: { collection: 'settings', action: 'update' },
        recordedAs: ['update', 'settings'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'updateSettings',
        tags: ['Settings'],
        summary: 'Update the settings',
        description:
          'Changes the given settings, which take effect with the next request. Only administrators can change settings other than `project_*` and `default_language`, and their session must be fresh. Fails with `UNPROCESSABLE_CONTENT` if the public policy grants `admin_access` or `app_access`, or if the registration role grants `admin_access`.',
        querystring: SettingsQuery,
        body: SettingsInput,
        response: {
          200: {
            ...SettingsResponse,
            description: 'The updated settings that you can read.',
          },
          204: noContent('Updated, but you cannot read the result.'),
          ...errorResponses(
            'INVALID_QUERY',
            'REAUTHENTICATION_REQUIRED',
            'FAILED_VALIDATION',
            'INVALID_FOREIGN_KEY',
            'UNPROCESSABLE_CONTENT',
          ),
        },
      },
    },
    async (request, reply) => {
      const data = await app.settings.update(request.caller, request.body, request.query.fields);
      return sendWritten(reply, data && { data });
    },
  );
}
