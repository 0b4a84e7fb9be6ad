import { errorResponses } from '../../schemas/errors.js';
import { SettingsInput, SettingsQuery, SettingsResponse } from '../../schemas/settings.js';
import { type App, noContent } from '../app.js';

export function updateSettings(app: App): void {
  app.patch(
    '/',
    {
      schema: {
        operationId: 'updateSettings',
        tags: ['Settings'],
        summary: 'Update the settings',
        description:
          'Changes only the settings that are given; they take effect on the next request. Only administrators may change settings other than `project_*` and `default_language`. The public policy cannot grant `admin_access` or `app_access`, and the role for registrations cannot lead to `admin_access`: 422.',
        querystring: SettingsQuery,
        body: SettingsInput,
        response: {
          200: {
            ...SettingsResponse,
            description: 'The updated settings that you can read.',
          },
          204: noContent('Updated. You cannot read the result.'),
          ...errorResponses(
            'INVALID_QUERY',
            'FORBIDDEN',
            'FAILED_VALIDATION',
            'INVALID_FOREIGN_KEY',
            'UNPROCESSABLE_CONTENT',
          ),
        },
      },
    },
    async (request, reply) => {
      const data = await app.settings.update(request.caller, request.body, request.query.fields);
      return data === null ? reply.code(204).send() : { data };
    },
  );
}
