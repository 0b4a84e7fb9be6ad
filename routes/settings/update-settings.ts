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
        description: 'Only the settings that are given change. What they say counts from the next request on.',
        querystring: SettingsQuery,
        body: SettingsInput,
        response: {
          200: {
            ...SettingsResponse,
            description: 'The settings as they stand now, as far as the caller may read them.',
          },
          204: noContent('They were updated, and the caller may not read them.'),
          ...errorResponses('INVALID_QUERY', 'FORBIDDEN', 'FAILED_VALIDATION', 'INVALID_FOREIGN_KEY'),
        },
      },
    },
    async (request, reply) => {
      const data = await app.settings.update(request.caller, request.body, request.query.fields);
      return data === null ? reply.code(204).send() : { data };
    },
  );
}
