import { errorResponses } from '../../schemas/errors.js';
import { SettingsInput, SettingsQuery, SettingsResponse } from '../../schemas/settings.js';
import { type App, noContent } from '../app.js';

export function updateSettings(app: App): void {
  app.patch(
    '/',
    {
      config: {
        access: 'permission',
        needs: { collection: 'settings', action: 'update' },
        recordedAs: ['update', 'settings'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'updateSettings',
        tags: ['Settings'],
        summary: 'Update the settings',
        description:
          'Changes only the given settings, which take effect with the next request. Only administrators can change settings other than `project_*` and `default_language`. Returns 422 for a public policy that grants `admin_access` or `app_access`, and for a registration role that leads to `admin_access`.',
        querystring: SettingsQuery,
        body: SettingsInput,
        response: {
          200: {
            ...SettingsResponse,
            description: 'The updated settings that you can read.',
          },
          204: noContent('Updated. You cannot read the result.'),
          ...errorResponses('INVALID_QUERY', 'FAILED_VALIDATION', 'INVALID_FOREIGN_KEY', 'UNPROCESSABLE_CONTENT'),
        },
      },
    },
    async (request, reply) => {
      const data = await app.settings.update(request.caller, request.body, request.query.fields);
      return data === null ? reply.code(204).send() : { data };
    },
  );
}
