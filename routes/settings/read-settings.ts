import { Data } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { ItemQuery } from '../../schemas/query.js';
import { Settings } from '../../schemas/settings.js';
import { type App, optionalCredential } from '../app.js';

export function readSettings(app: App): void {
  app.get(
    '/',
    {
      schema: {
        operationId: 'readSettings',
        tags: ['Settings'],
        summary: 'Read the settings',
        security: optionalCredential,
        querystring: ItemQuery,
        response: {
          200: { ...Data(Settings), description: 'The settings.' },
          ...errorResponses('INVALID_QUERY', 'FORBIDDEN'),
        },
      },
    },
    async (request) => ({ data: await app.settings.read(request.caller, request.query.fields) }),
  );
}
